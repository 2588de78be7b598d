"""Broken local servers: for each its cause and its fix, in both languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.entries import Write, odd
from tests.support.examining import LANGUAGES, Broken, entry, failing_step, nowhere

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("no_children_left")]
WAITS = "http://0.0.0.0:8000"
LISTENS = f"import time; print('Listening on {WAITS}', flush=True); time.sleep(60)"


LOCAL = {
    "neither command nor url": Broken(
        entry(args=["server.py"]), "config", ("needs command or url",) * 2, ("write command =", "本地服务器写 command")
    ),
    "a typing error": Broken(
        '[mcp.servers.s]\ncomand = "npx"\n',
        "config",
        ("needs command", "没有 command"),
        ("did you mean 'command'",) * 2,
    ),
    "arguments as one string": Broken(
        entry(command="{python}", args="a b"), "config", ("args: must be a list", "配置项有误"), ("correct", "改正")
    ),
    "a missing variable": Broken(
        entry(command="x", args=["${NO_SUCH_VAR_X}"]),
        "variables",
        ("variable NO_SUCH_VAR_X is not set", "环境变量 NO_SUCH_VAR_X 没有设置"),
        ("set NO_SUCH_VAR_X where the bot is started", "设置 NO_SUCH_VAR_X 并重启，或写成 ${NO_SUCH_VAR_X:-"),
    ),
    "a missing folder": Broken(
        odd("s", "normal", more='cwd = "gone"'),
        "program",
        ("does not exist", "工作目录不存在"),
        ("correct cwd", "改正 cwd"),
    ),
    "no npx": Broken(nowhere("npx"), "program", ("npx", "找不到程序 npx"), ("install Node.js", "安装 Node.js")),
    "no uvx": Broken(nowhere("uvx"), "program", ("uvx", "找不到程序 uvx"), ("install uv", "安装 uv")),
    "no docker": Broken(
        nowhere("docker"), "program", ("docker", "找不到程序"), ("install Docker", "安装并启动 Docker")
    ),
    "no python": Broken(nowhere("python3"), "program", ("python3", "找不到程序"), ('command = "${PYTHON}"',) * 2),
    "no such program": Broken(
        nowhere("notes-server"), "program", ("notes-server", "找不到程序"), ("full path into command", "写完整路径")
    ),
    "the wrong interpreter": Broken(
        odd("s", "crash_start"),
        "start",
        ("wrong interpreter, its Python lacks pandas", "用错了 Python 解释器：那个 Python 里没有模块 pandas"),
        ("use uvx, or put the full path", "请改用 uvx，或把装有它的 Python"),
    ),
    "a module that is not there": Broken(
        entry(command="{python}", args=["-m", "no_such_server"]),
        "start",
        ("lacks no_such_server", "没有模块 no_such_server"),
        ("use uvx", "改用 uvx"),
    ),
    "a script that is not there": Broken(
        entry(command="{python}", args=["gone.py"]),
        "start",
        ("gone.py", "gone.py"),
        ("path in args", "改正 args 里的路径"),
    ),
    "an exit at once": Broken(
        odd("s", "exit_no_newline"),
        "start",
        ("exit status 7: FATAL: no license", "程序一启动就退出"),
        ("fix what its last output", "请按它最后的输出处理"),
    ),
    "an exit without a word": Broken(
        odd("s", "exit_silent"),
        "start",
        ("exit status 0", "没有任何输出"),
        ("is it an MCP server?", "它是 MCP 服务器吗"),
    ),
    "a key that the server wants": Broken(
        odd("s", "exit_at_once"),
        "start",
        ("needs the environment variable DATABASE_URL", "服务器缺少环境变量 DATABASE_URL"),
        ('env = { DATABASE_URL = "${DATABASE_URL}" }',) * 2,
    ),
    "a wrong argument": Broken(
        odd("s", "exit_usage"),
        "start",
        ("--token is required", "服务器不接受这些启动参数"),
        ("correct args", "改正 args"),
    ),
    "something else on stdout": Broken(
        entry(command="{python}", args=["-c", LISTENS], connect_timeout=2),
        "handshake",
        (f"(connect_timeout); its output: Listening on {WAITS}", f"它的输出：Listening on {WAITS}"),
        ("its log belongs on stderr", "日志应写到 stderr"),
    ),
    "a handshake without end": Broken(
        odd("s", "hang_init", more="connect_timeout = 1"),
        "handshake",
        ("no answer to initialize within 1 s", "握手没有应答"),
        ("raise connect_timeout", "调大 connect_timeout"),
    ),
    "a version from another century": Broken(
        odd("s", "version_future"), "handshake", ("2099-01-01", "没有双方都支持的协议版本"), ("update", "升级")
    ),
    "another protocol": Broken(
        odd("s", "init_refused"), "handshake", ("refused initialize", "协议版本"), ("update the server", "请升级服务器")
    ),
    "an empty list": Broken(
        odd("s", "empty_tools"),
        "tools",
        ("it has no tools", "没有任何工具"),
        ("key, a login or an argument", "密钥、登录"),
    ),
    "resources only": Broken(
        odd("s", "no_tools_capability"), "tools", ("announces no tools", "声明自己没有工具"), ("enabled = false",) * 2
    ),
    "a list that fails": Broken(
        odd("s", "list_error"),
        "tools",
        ("answers tools/list with an error", "请求工具列表时服务器报错"),
        ("update it", "升级它"),
    ),
    "a list without end": Broken(
        odd("s", "hang_list", more="connect_timeout = 2"),
        "tools",
        ("no answer to tools/list within 2 s", "请求工具列表没有应答"),
        ("raise connect_timeout", "调大 connect_timeout"),
    ),
    "an exit after the handshake": Broken(
        odd("s", "exit_after_init"),
        "tools",
        ("cannot read the tool directory", "握手之后退出"),
        ("last output", "最后的输出"),
    ),
    "patterns that fit nothing": Broken(
        odd("s", "normal", more='tools = { allow = ["Echo"] }'),
        "names",
        ("none of its 2 tools is offered: echo, pid", "一个也没有提供：echo, pid"),
        ("correct allow and deny", "改正 tools 里的 allow 和 deny"),
    ),
}


@pytest.mark.parametrize("broken", LOCAL.values(), ids=LOCAL.keys())
async def test_a_broken_local_server_is_told_cause_and_fix(write_config: Write, data_dir: Path, broken: Broken) -> None:
    file = write_config(broken.entry)
    for index, language in enumerate(LANGUAGES):
        step = await failing_step(file, language, data_dir)
        assert step.step == broken.step
        assert broken.cause[index] in step.detail
        assert broken.fix[index] in step.hint
