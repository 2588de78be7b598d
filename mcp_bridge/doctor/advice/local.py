"""What can be wrong with an entry, its program and its start."""

from __future__ import annotations

from collections.abc import Mapping

from .advice import Advice, case

LOCAL: Mapping[str, Advice] = {
    # --- the entry ---
    "entry": case(
        "配置项有误",
        "correct that line of the file; the keys are explained in the README",
        "请改正文件里的这一行；各个键的说明见 README",
    ),
    "target": case(
        "既没有 command 也没有 url",
        'write command = "..." for a local server, or url = "https://..." for a remote one',
        '本地服务器写 command = "..."，远程服务器写 url = "https://..."',
    ),
    "variable": case(
        "环境变量 {name} 没有设置",
        "set {name} where the bot is started (shell, service file, docker -e) and restart it, "
        "or write ${{{name}:-default}}",
        "请在启动机器人的地方（终端、服务文件、docker -e）设置 {name} 并重启，或写成 ${{{name}:-默认值}}",
    ),
    # --- the program ---
    "folder": case(
        "工作目录不存在",
        "create the folder or correct cwd, which counts from the folder of the configuration file",
        "请新建这个文件夹，或改正 cwd（相对于配置文件所在的文件夹）",
    ),
    "program": case(
        "找不到程序 {name}",
        "install {name}, or put its full path into command ('{which} {name}' in a terminal shows it)",
        "请安装 {name}，或在 command 里写完整路径（在终端运行“{which} {name}”可以查到）",
    ),
    "program.node": case(
        "找不到程序 {name}",
        "install Node.js, which brings {name}; if it works in a terminal, put the full path that "
        "'{which} {name}' shows there into command",
        "请安装 Node.js（自带 {name}）；如果在终端里能用，请把终端里“{which} {name}”显示的完整路径写进 command",
    ),
    "program.uv": case(
        "找不到程序 {name}",
        "install uv, which brings {name} (pip install uv); if it works in a terminal, put the full path that "
        "'{which} {name}' shows there into command",
        "请安装 uv（自带 {name}，可用 pip install uv）；如果在终端里能用，"
        "请把终端里“{which} {name}”显示的完整路径写进 command",
    ),
    "program.python": case(
        "找不到程序 {name}",
        'write command = "${{PYTHON}}" for the Python that runs the bot, or the full path of another one',
        '请写 command = "${{PYTHON}}"（运行机器人的 Python），或另一个 Python 的完整路径',
    ),
    "program.docker": case(
        "找不到程序 {name}",
        "install Docker (or Podman) and start it; or run the server in a container of its own and use url",
        "请安装并启动 Docker（或 Podman）；或让服务器在自己的容器里运行，改用 url",
    ),
    "argument": case(
        "有一个参数无法安全地传给 .cmd 程序",
        "take that character out of args, or start the .js or .exe behind the .cmd directly",
        "请去掉 args 里的这个字符，或直接启动 .cmd 背后的 .js 或 .exe",
    ),
    # --- its start ---
    "start": case(
        "系统拒绝启动它",
        "make it executable (chmod +x) or start it by its interpreter; what another system made cannot run here",
        "请给它执行权限（chmod +x），或用解释器来启动；为别的系统编译的程序在这里不能运行",
    ),
    "module": case(
        "用错了 Python 解释器：那个 Python 里没有模块 {name}",
        "the package {name} is not in that Python: use uvx, or put the full path of one that has it into command",
        "那个 Python 里没有 {name}：请改用 uvx，或把装有它的 Python 的完整路径写进 command",
        en="wrong interpreter, its Python lacks {name}: {message}",
    ),
    "script": case(
        "找不到要运行的脚本或模块 {name}",
        "correct the path in args: it counts from cwd, by default the folder of the configuration file",
        "请改正 args 里的路径：它相对于 cwd，默认是配置文件所在的文件夹",
        en="the script {name} is not there: {message}",
    ),
    "env": case(
        "服务器缺少环境变量 {name}",
        'give it the variable: env = {{ {name} = "${{{name}}}" }}; a server inherits none of the bot\'s keys',
        '请把变量交给它：env = {{ {name} = "${{{name}}}" }}；服务器不会继承机器人的密钥',
        en="the server misses the variable {name}: {message}",
    ),
    "usage": case(
        "服务器对启动参数不满意",
        "an argument is missing or wrong: read the server's own page and correct args",
        "缺少参数或参数有误：请对照服务器自己的说明改正 args",
    ),
    "port": case(
        "它要用的端口已被占用",
        "end the other program, or tell the server in args to speak stdio instead of opening a port",
        "请结束占用端口的程序，或在 args 里让服务器使用 stdio 而不是打开端口",
    ),
    "package": case(
        "启动器 {launcher} 找不到这个包",
        "check the spelling of the package in args; a private one needs its registry in env",
        "请检查 args 里的包名；私有包需要在 env 里设置它的源",
        en="{launcher} does not find the package: {message}",
    ),
    "daemon": case(
        "{launcher} 连不上 Docker 服务",
        "start Docker; inside a container hand in its socket, or run the server as a container of its own and use url",
        "请启动 Docker；在容器里需要把它的套接字映射进来，或让服务器自己成为一个容器，改用 url",
        en="{launcher} cannot reach Docker itself: {message}",
    ),
    "network": case(
        "启动器 {launcher} 连不上网络，无法下载",
        "check network and proxy (HTTPS_PROXY); a mirror is set with npm_config_registry or UV_DEFAULT_INDEX",
        "请检查网络和代理（HTTPS_PROXY）；镜像源用 npm_config_registry 或 UV_DEFAULT_INDEX 设置",
        en="{launcher} cannot reach the network to download: {message}",
    ),
    "launcher": case(
        "启动器 {launcher} 失败了",
        "run the same command in a terminal: it says why it fails, and downloads what is missing",
        "请在终端里运行同样的命令：它会说明原因，也会把缺的东西下载好",
    ),
    "silent": case(
        "程序一启动就退出，什么也没说",
        "is it an MCP server? Run the same command in a terminal; often an argument is missing (some need stdio)",
        "它是 MCP 服务器吗？请在终端里运行同样的命令；常见原因是少了参数（有的需要 stdio）",
    ),
    "exit": case(
        "程序一启动就退出",
        "do what its last words ask for; run the same command in a terminal to read all of them",
        "请按它最后的输出处理；在终端里运行同样的命令可以看到全部输出",
    ),
}
CONTAINER = Advice(
    ("", ""),
    (
        "this is a container: the program must be inside it, or run the server elsewhere and use url",
        "这里是容器：程序必须装在容器里，或让服务器在别处运行并改用 url",
    ),
)
