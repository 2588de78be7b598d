"""Advice on an entry of the configuration, its program, and the start of that program."""

from __future__ import annotations

from collections.abc import Mapping

from ...text.language import Text
from .advice import Advice

LOCAL: Mapping[str, Advice] = {
    # --- the entry ---
    "entry": Advice(
        cause=Text(en="{message}", zh="配置项有误（{message}）"),
        fix=Text(
            en="correct that line of the file; the README explains the keys",
            zh="请改正文件里的这一行；各个键的说明见 README",
        ),
    ),
    "target": Advice(
        cause=Text(en="{message}", zh="既没有 command 也没有 url（{message}）"),
        fix=Text(
            en='write command = "..." for a local server, or url = "https://..." for a remote one',
            zh='本地服务器写 command = "..."，远程服务器写 url = "https://..."',
        ),
    ),
    "variable": Advice(
        cause=Text(en="{message}", zh="环境变量 {name} 没有设置（{message}）"),
        fix=Text(
            en="set {name} where the bot is started (shell, service file, docker -e) and restart it, "
            "or write ${{{name}:-default}}",
            zh="请在启动机器人的地方（终端、服务文件、docker -e）设置 {name} 并重启，或写成 ${{{name}:-默认值}}",
        ),
    ),
    # --- the program ---
    "folder": Advice(
        cause=Text(en="{message}", zh="工作目录不存在（{message}）"),
        fix=Text(
            en="create the folder or correct cwd, which is relative to the folder of the configuration file",
            zh="请新建这个文件夹，或改正 cwd（相对于配置文件所在的文件夹）",
        ),
    ),
    "program": Advice(
        cause=Text(en="{message}", zh="找不到程序 {name}（{message}）"),
        fix=Text(
            en="install {name}, or put its full path into command ('{which} {name}' in a terminal shows it)",
            zh="请安装 {name}，或在 command 里写完整路径（在终端运行“{which} {name}”可以查到）",
        ),
    ),
    "program.node": Advice(
        cause=Text(en="{message}", zh="找不到程序 {name}（{message}）"),
        fix=Text(
            en="install Node.js, which includes {name}; if it works in a terminal, put the full path that "
            "'{which} {name}' shows there into command",
            zh="请安装 Node.js（自带 {name}）；如果在终端里能用，请把终端里“{which} {name}”显示的完整路径写进 command",
        ),
    ),
    "program.uv": Advice(
        cause=Text(en="{message}", zh="找不到程序 {name}（{message}）"),
        fix=Text(
            en="install uv, which includes {name} (pip install uv); if it works in a terminal, put the full path "
            "that '{which} {name}' shows there into command",
            zh="请安装 uv（自带 {name}，可用 pip install uv）；如果在终端里能用，"
            "请把终端里“{which} {name}”显示的完整路径写进 command",
        ),
    ),
    "program.python": Advice(
        cause=Text(en="{message}", zh="找不到程序 {name}（{message}）"),
        fix=Text(
            en='write command = "${{PYTHON}}" for the Python that runs the bot, or the full path of another one',
            zh='请写 command = "${{PYTHON}}"（运行机器人的 Python），或另一个 Python 的完整路径',
        ),
    ),
    "program.docker": Advice(
        cause=Text(en="{message}", zh="找不到程序 {name}（{message}）"),
        fix=Text(
            en="install Docker (or Podman) and start it; or run the server in a container of its own and use url",
            zh="请安装并启动 Docker（或 Podman）；或让服务器在自己的容器里运行，改用 url",
        ),
    ),
    "argument": Advice(
        cause=Text(en="{message}", zh="有一个参数无法安全地传给 .cmd 程序（{message}）"),
        fix=Text(
            en="remove that character from args, or start the .js or .exe behind the .cmd directly",
            zh="请去掉 args 里的这个字符，或直接启动 .cmd 背后的 .js 或 .exe",
        ),
    ),
    # --- its start ---
    "start": Advice(
        cause=Text(en="{message}", zh="系统拒绝启动它（{message}）"),
        fix=Text(
            en="make it executable (chmod +x) or start it with its interpreter; a program built for another system "
            "cannot run here",
            zh="请给它执行权限（chmod +x），或用解释器来启动；为别的系统编译的程序在这里不能运行",
        ),
    ),
    "module": Advice(
        cause=Text(
            en="wrong interpreter, its Python lacks {name}: {message}",
            zh="用错了 Python 解释器：那个 Python 里没有模块 {name}（{message}）",
        ),
        fix=Text(
            en="that Python does not have the package {name}: use uvx, or put the full path of a Python that has it "
            "into command",
            zh="那个 Python 里没有 {name}：请改用 uvx，或把装有它的 Python 的完整路径写进 command",
        ),
    ),
    "script": Advice(
        cause=Text(
            en="the script {name} does not exist: {message}",
            zh="找不到要运行的脚本或模块 {name}（{message}）",
        ),
        fix=Text(
            en="correct the path in args: it is relative to cwd, by default the folder of the configuration file",
            zh="请改正 args 里的路径：它相对于 cwd，默认是配置文件所在的文件夹",
        ),
    ),
    "env": Advice(
        cause=Text(
            en="the server needs the environment variable {name}: {message}",
            zh="服务器缺少环境变量 {name}（{message}）",
        ),
        fix=Text(
            en='give it the variable: env = {{ {name} = "${{{name}}}" }}; a server does not inherit the bot\'s keys',
            zh='请把变量交给它：env = {{ {name} = "${{{name}}}" }}；服务器不会继承机器人的密钥',
        ),
    ),
    "usage": Advice(
        cause=Text(en="{message}", zh="服务器不接受这些启动参数（{message}）"),
        fix=Text(
            en="an argument is missing or wrong: read the server's documentation and correct args",
            zh="缺少参数或参数有误：请对照服务器的文档改正 args",
        ),
    ),
    "port": Advice(
        cause=Text(en="{message}", zh="它要用的端口已被占用（{message}）"),
        fix=Text(
            en="stop the other program, or choose stdio instead of a port in the server's args",
            zh="请结束占用端口的程序，或在 args 里让服务器使用 stdio 而不是打开端口",
        ),
    ),
    "package": Advice(
        cause=Text(
            en="{launcher} does not find the package: {message}",
            zh="启动器 {launcher} 找不到这个包（{message}）",
        ),
        fix=Text(
            en="check the spelling of the package in args; for a private one, set its registry in env",
            zh="请检查 args 里的包名；私有包需要在 env 里设置它的源",
        ),
    ),
    "daemon": Advice(
        cause=Text(
            en="{launcher} cannot connect to Docker: {message}",
            zh="{launcher} 连不上 Docker 服务（{message}）",
        ),
        fix=Text(
            en="start Docker; inside a container mount its socket, or run the server as a container of its own "
            "and use url",
            zh="请启动 Docker；在容器里需要把它的套接字映射进来，或让服务器自己成为一个容器，改用 url",
        ),
    ),
    "network": Advice(
        cause=Text(
            en="{launcher} cannot reach the network to download: {message}",
            zh="启动器 {launcher} 连不上网络，无法下载（{message}）",
        ),
        fix=Text(
            en="check network and proxy (HTTPS_PROXY); set a mirror with npm_config_registry or UV_DEFAULT_INDEX",
            zh="请检查网络和代理（HTTPS_PROXY）；镜像源用 npm_config_registry 或 UV_DEFAULT_INDEX 设置",
        ),
    ),
    "launcher": Advice(
        cause=Text(en="{message}", zh="启动器 {launcher} 失败了（{message}）"),
        fix=Text(
            en="run the same command in a terminal: it shows why it fails, and downloads what is missing",
            zh="请在终端里运行同样的命令：它会说明原因，也会把缺的东西下载好",
        ),
    ),
    "silent": Advice(
        cause=Text(en="{message}", zh="程序一启动就退出，没有任何输出（{message}）"),
        fix=Text(
            en="is it an MCP server? Run the same command in a terminal; often an argument is missing "
            "(some need stdio)",
            zh="它是 MCP 服务器吗？请在终端里运行同样的命令；常见原因是少了参数（有的需要 stdio）",
        ),
    ),
    "exit": Advice(
        cause=Text(en="{message}", zh="程序一启动就退出（{message}）"),
        fix=Text(
            en="fix what its last output complains about; run the same command in a terminal to see all of it",
            zh="请按它最后的输出处理；在终端里运行同样的命令可以看到全部输出",
        ),
    ),
}
