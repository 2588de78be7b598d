"""`mcp-bridge doctor`: for each broken set-up its cause and its fix, in both languages."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import ssl
import string
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge import BridgeError, load_config
from mcp_bridge.approvals import Approvals
from mcp_bridge.catalog import Listing, RemoteTool
from mcp_bridge.doctor import diagnose, examination
from mcp_bridge.doctor.casebook import CASEBOOK
from mcp_bridge.doctor.cause import case_of
from mcp_bridge.doctor.examination import Examination
from mcp_bridge.doctor.host_file import host_objection
from mcp_bridge.doctor.language import Language, system_language
from mcp_bridge.doctor.last_words import understand
from mcp_bridge.doctor.offered import Offered
from mcp_bridge.doctor.steps import Diagnosis, Step
from mcp_bridge.doctor.words import TEXTS, Words
from mcp_bridge.errors import ServerUnavailable
from mcp_bridge.process import environment
from mcp_bridge.process.guardian import Guardian
from mcp_bridge.redaction import Redactor
from mcp_bridge.server_config import ServerConfig
from mcp_bridge.transport import Surroundings
from mcp_bridge.wire.channel import Asides

from .cases.remote import at, remote
from .conftest import odd

Write = Callable[..., Path]
pytestmark = pytest.mark.usefixtures("no_children_left")
FOLDER = Path(__file__).parents[1]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
HEALTHY = ["config", "variables", "program", "start", "handshake", "tools", "names", "schemas", "ping"]
WAITS = "http://0.0.0.0:8000"
LISTENS = f"import time; print('Listening on {WAITS}', flush=True); time.sleep(60)"


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test depend on whether it runs in a container or behind a proxy, or on programs lying about."""
    monkeypatch.setattr(examination, "in_container", lambda: False)
    monkeypatch.setattr(environment, "_usual_places", lambda env: ())
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def examine(file: Path, language: Language, data_dir: Path) -> list[Diagnosis]:
    return await diagnose(load_config(file), Words(language), data_dir=data_dir)


async def failure(file: Path, language: Language, data_dir: Path) -> Step:
    """Return the one failing step of the one server; it must be the last."""
    (found,) = await examine(file, language, data_dir)
    assert [step.ok for step in found.steps] == [*[True] * (len(found.steps) - 1), False], found
    for step in found.steps:
        assert "\n" not in step.detail + step.hint
        assert "Traceback" not in step.detail + step.hint
    return found.steps[-1]


@dataclass(frozen=True)
class Broken:
    """An entry, where it must fail, and words that cause and fix must hold, each `(English, Chinese)`."""

    entry: str
    step: str
    cause: tuple[str, str]
    fix: tuple[str, str]


def entry(**keys: Any) -> str:
    return "[mcp.servers.s]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())


def nowhere(command: str) -> str:
    return entry(command=command) + 'env = { PATH = "/nowhere" }\n'


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
        ("do what its last words ask", "请按它最后的输出处理"),
    ),
    "an exit without a word": Broken(
        odd("s", "exit_silent"), "start", ("exit status 0", "什么也没说"), ("is it an MCP server?", "它是 MCP 服务器吗")
    ),
    "a key that the server wants": Broken(
        odd("s", "exit_at_once"),
        "start",
        ("misses the variable DATABASE_URL", "服务器缺少环境变量 DATABASE_URL"),
        ('env = { DATABASE_URL = "${DATABASE_URL}" }',) * 2,
    ),
    "a wrong argument": Broken(
        odd("s", "exit_usage"),
        "start",
        ("--token is required", "服务器对启动参数不满意"),
        ("correct args", "改正 args"),
    ),
    "something else on stdout": Broken(
        entry(command="{python}", args=["-c", LISTENS], connect_timeout=5),
        "handshake",
        (f"(connect_timeout); it said: Listening on {WAITS}", f"它的输出：Listening on {WAITS}"),
        ("its log belongs on stderr", "日志应写到 stderr"),
    ),
    "a handshake without end": Broken(
        odd("s", "hang_init", more="connect_timeout = 2"),
        "handshake",
        ("no answer to initialize within 2 s", "握手没有应答"),
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
        odd("s", "list_error"), "tools", ("answers tools/list with an error", "对工具列表报错"), ("update it", "升级它")
    ),
    "a list without end": Broken(
        odd("s", "hang_list", more="connect_timeout = 5"),
        "tools",
        ("no answer to tools/list within 5 s", "要工具列表没有应答"),
        ("raise connect_timeout", "调大 connect_timeout"),
    ),
    "an exit after the handshake": Broken(
        odd("s", "exit_after_init"),
        "tools",
        ("cannot read the tool directory", "握手之后退出"),
        ("last words", "最后的输出"),
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
        step = await failure(file, language, data_dir)
        assert step.step == broken.step
        assert broken.cause[index] in step.detail
        assert broken.fix[index] in step.hint


REMOTE: dict[str, tuple[tuple[str, ...], str, dict[str, Any], str, tuple[str, str], tuple[str, str]]] = {
    "wrong path": (
        (),
        "/nothing",
        {},
        "connect",
        ("404 Not Found", "路径不对（404）"),
        ("often ends in /mcp", "通常以 /mcp"),
    ),
    "wrong path for sse": (
        ("mount=/gw", "endpoint=absolute"),
        "/gw/sse",
        {"transport": "sse"},
        "connect",
        ("404 Not Found", "404"),
        ("set sse_prefix", "请设置 sse_prefix"),
    ),
    "wrong transport": (
        ("http=sse_only",),
        "/mcp",
        {"transport": "http"},
        "connect",
        ("405 Method Not Allowed", "传输方式不对"),
        ("remove the key transport", "删掉 transport"),
    ),
    "the other wrong transport": (
        ("get=405",),
        "/mcp",
        {"transport": "sse"},
        "connect",
        ("405 Method Not Allowed", "传输方式不对"),
        ("remove the key transport", "删掉 transport"),
    ),
    "no token": (("auth=right-token",), "/mcp", {}, "connect", ("401", "不认这个令牌"), ('bearer = "${TOKEN}"',) * 2),
    "not allowed": (
        ("http=403",),
        "/mcp",
        {},
        "connect",
        ("403 Forbidden", "拒绝访问"),
        ("lacks the right", "权限不足"),
    ),
    "too many requests": (("http=429",), "/mcp", {}, "connect", ("429", "请求太频繁"), ("wait a minute", "等一分钟")),
    "gateway": (
        ("http=502",),
        "/mcp",
        {},
        "connect",
        ("502 Bad Gateway", "内部出错（502）"),
        ("behind a gateway", "如果前面有网关"),
    ),
    "another place": (
        ("http=redirect_other",),
        "/mcp",
        {},
        "connect",
        ("http://other-host.invalid/mcp",) * 2,
        ("put it into url", "请写进 url"),
    ),
    "a web page": (
        ("http=html", "on=initialize"),
        "/mcp",
        {},
        "handshake",
        ("text/html", "没有按 MCP 应答"),
        ("sign-in page", "登录页"),
    ),
    "no answer": (
        ("http=hang",),
        "/mcp",
        {"connect_timeout": 2},
        "handshake",
        ("no answer to initialize within 2 s", "握手没有应答"),
        ("the url is the MCP endpoint", "确认 url 是 MCP 端点"),
    ),
}


@pytest.mark.parametrize(("options", "path", "more", "place", "cause", "fix"), REMOTE.values(), ids=REMOTE.keys())
async def test_a_broken_remote_server_is_told_cause_and_fix(
    write_config: Write,
    tmp_path: Path,
    data_dir: Path,
    options: tuple[str, ...],
    path: str,
    more: dict[str, Any],
    place: str,
    cause: tuple[str, str],
    fix: tuple[str, str],
) -> None:
    with remote(tmp_path, "normal", *options) as server:
        file = write_config(at(f"{server.origin}{path}?key=s3cr3t-query", bearer="s3cr3t-token", **more))
        for index, language in enumerate(LANGUAGES):
            step = await failure(file, language, data_dir)
            assert step.step == place
            assert cause[index] in step.detail
            assert fix[index] in step.hint
            assert "s3cr3t" not in step.detail + step.hint


@pytest.mark.parametrize(
    ("url", "environ", "cause", "fix"),
    [
        ("http://127.0.0.1:9/mcp", {}, ("connection refused", "连接被拒绝"), ("host.docker.internal",) * 2),
        ("http://no-such-host.invalid/mcp", {}, ("no-such-host.invalid", "找不到这个主机名"), ("spelling", "拼写")),
        (
            "http://server.invalid/mcp",
            {"HTTP_PROXY": "http://me:s3cr3t-pw@127.0.0.1:9"},
            ("the proxy http://127.0.0.1:9 on the way to http://server.invalid/mcp refuses", "代理有问题"),
            ("add server.invalid to NO_PROXY", "把 server.invalid 加到 NO_PROXY"),
        ),
    ],
    ids=["refused", "unknown host", "proxy"],
)
async def test_an_unreachable_server_is_told_cause_and_fix(
    write_config: Write,
    data_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    environ: dict[str, str],
    cause: tuple[str, str],
    fix: tuple[str, str],
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    for index, language in enumerate(LANGUAGES):
        step = await failure(write_config(at(url)), language, data_dir)
        assert step.step == "connect"
        assert cause[index] in step.detail
        assert fix[index] in step.hint
        assert "s3cr3t" not in str(step)


async def test_a_proxy_that_lets_nobody_through_is_blamed_and_shown(
    write_config: Write, tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with remote(tmp_path) as proxy:  # answers CONNECT with 501
        monkeypatch.setenv("HTTPS_PROXY", proxy.origin)
        (found,) = await examine(write_config(at("https://server.invalid/mcp")), "en", data_dir)
    address, connect = found.steps[-2:]
    assert address.detail == f"https://server.invalid/mcp through the proxy {proxy.origin}"
    assert f"the proxy {proxy.origin} lets nobody through" in connect.detail
    assert "NO_PROXY" in connect.hint


@contextmanager
def with_own_certificate(folder: Path) -> Iterator[int]:
    """Serve HTTPS with a certificate that nobody has signed; yield the port."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    subprocess.run(["openssl", *words, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
async def test_a_certificate_that_nobody_signed_is_told_from_no_tls_at_all(
    write_config: Write, tmp_path: Path, data_dir: Path
) -> None:
    with with_own_certificate(tmp_path) as port:
        file = write_config(at(f"https://127.0.0.1:{port}/mcp"))
        step = await failure(file, "en", data_dir)
        assert ("not trusted" in step.detail, "set ca_file" in step.hint) == (True, True)
        step = await failure(file, "zh", data_dir)
        assert ("不信任服务器的证书" in step.detail, "请把 ca_file 设为" in step.hint) == (True, True)
    with remote(tmp_path) as plain:
        file = write_config(at(plain.origin.replace("http:", "https:") + "/mcp"))
        assert "write http:// in url" in (await failure(file, "en", data_dir)).hint
        assert "那个地址不支持 TLS" in (await failure(file, "zh", data_dir)).detail
    file = write_config(at("https://127.0.0.1:9/mcp", ca_file=str(tmp_path / "key.pem")))
    assert "readable PEM file" in (await failure(file, "en", data_dir)).hint


@pytest.mark.skipif(os.name == "nt", reason="the launcher is a shell script")
@pytest.mark.parametrize(
    ("script", "cause", "fix"),
    [
        (
            "sleep 60",
            ("the first download by npx may still be running", "npx 可能还在做首次下载"),
            ("raise first_start_timeout", "调大 first_start_timeout"),
        ),
        (
            "echo 'npm error code E404' >&2; exit 1",
            ("npx does not find the package", "npx 找不到这个包"),
            ("spelling of the package", "检查 args 里的包名"),
        ),
        (
            "echo 'npm ERR! network ETIMEDOUT' >&2; exit 1",
            ("cannot reach the network", "连不上网络"),
            ("HTTPS_PROXY",) * 2,
        ),
        (
            "echo 'npm error code EBADENGINE' >&2; exit 1",
            ("EBADENGINE", "启动器 npx 失败了"),
            ("in a terminal", "在终端里"),
        ),
    ],
)
async def test_a_launcher_that_fails_is_no_server_that_fails(
    write_config: Write, tmp_path: Path, data_dir: Path, script: str, cause: tuple[str, str], fix: tuple[str, str]
) -> None:
    launcher = tmp_path / "npx"
    launcher.write_text(f"#!/bin/sh\n{script}\n")
    launcher.chmod(0o755)
    file = write_config(entry(command=str(launcher), args=["-y", "x"], connect_timeout=2, first_start_timeout=2))
    for index, language in enumerate(LANGUAGES):
        step = await failure(file, language, data_dir)
        assert (step.step, cause[index] in step.detail, fix[index] in step.hint) == ("start", True, True), step


@pytest.mark.skipif(os.name == "nt", reason="has no execute permission")
async def test_a_program_of_another_machine_cannot_be_started(
    write_config: Write, tmp_path: Path, data_dir: Path
) -> None:
    (tmp_path / "server").write_bytes(b"\x7fELF\x02\x01\x01" + b"\0" * 60)
    (tmp_path / "server").chmod(0o755)
    file = write_config(entry(command="./server"))
    assert "chmod +x" in (await failure(file, "en", data_dir)).hint
    step = await failure(file, "zh", data_dir)
    assert (step.step, "系统拒绝启动它" in step.detail) == ("start", True)


async def test_a_healthy_server_passes_every_step_in_both_languages(write_config: Write, data_dir: Path) -> None:
    entries = '[mcp.servers.calculator]\ncommand = "${PYTHON}"\nargs = ["{calculator}"]\n'
    (found,) = await examine(write_config(entries), "en", data_dir)
    details = {step.step: step.detail for step in found.steps}
    assert found.ok
    assert [(step.step, step.hint) for step in found.steps] == [(name, "") for name in HEALTHY]
    assert details["program"].startswith(sys.executable)
    assert "protocol 20" in details["handshake"]
    assert details["tools"].startswith("5 after ")
    assert "mcp_calculator_add, " in details["names"]
    assert details["schemas"].startswith("add(a, b), ")
    assert details["ping"].endswith(" ms")
    (found,) = await examine(write_config(entries), "zh", data_dir)
    assert found.ok
    assert {step.step: step.detail for step in found.steps}["tools"].startswith("5 个")


async def test_a_healthy_remote_server_passes_every_step(write_config: Write, tmp_path: Path, data_dir: Path) -> None:
    with remote(tmp_path) as server:
        (found,) = await examine(write_config(at(server.origin + "/mcp")), "en", data_dir)
    assert found.ok
    steps = [step.step for step in found.steps]
    assert steps == ["config", "variables", "address", "connect", *HEALTHY[4:]]


async def test_what_is_only_odd_is_a_hint_and_no_failure(
    write_config: Write, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMPTY_X", "")
    text = odd("s", "stdout_banner", more='env = { A = "${EMPTY_X}", B = "${NOT_SET_X:-b}" }\ncoment = 1')
    (found,) = await examine(write_config(text), "en", data_dir)
    steps = {step.step: step for step in found.steps}
    assert found.ok
    assert "unknown key 'coment'" in steps["config"].hint
    assert steps["variables"].detail == "set: EMPTY_X; by default: NOT_SET_X"
    assert "EMPTY_X is set to nothing" in steps["variables"].hint
    assert "other things than messages" in steps["handshake"].hint


async def test_names_are_told_over_all_servers_and_their_limits(write_config: Write, data_dir: Path) -> None:
    text = "[mcp]\nmax_tools = 3\n" + odd("a.b", "normal").replace("a.b", '"a.b"') + odd("a_b", "normal")
    first, second = await examine(write_config(text), "en", data_dir)
    names = {one.name: next(step for step in one.steps if step.step == "names") for one in (first, second)}
    assert names["a.b"].detail.count("mcp_a_b_echo_") == 1  # told apart by a hash, as in the bot
    assert "not offered, there are more than max_tools = 3: mcp_a_b_" in names["a_b"].hint
    third = (await examine(write_config(text.replace("= 3", "= 2")), "zh", data_dir))[1].steps[-1]
    assert (third.ok, "没有位置放它的工具" in third.detail, "调大 max_tools" in third.hint) == (False, True, True)


async def test_a_pinned_server_whose_tools_changed_is_told_and_nothing_is_stored(
    write_config: Write, data_dir: Path
) -> None:
    file = write_config(odd("s", "normal", more="pin = true"))
    config = load_config(file).servers[0]
    assert (await examine(file, "en", data_dir))[0].ok
    assert not list((data_dir / "approvals").glob("*.json"))  # looking is no accepting
    Approvals(data_dir).accept(config, Listing())
    step = await failure(file, "en", data_dir)
    assert (step.step, "mcp-bridge accept s" in step.hint) == ("names", True)
    assert "全部被扣下" in (await failure(file, "zh", data_dir)).detail


async def test_a_schema_that_no_model_accepts_is_told(data_dir: Path, write_config: Write) -> None:
    config = load_config(write_config(entry(command="x")))
    around = Surroundings(Guardian(), Redactor(), 2**20)
    words = Words("en")
    patient = Examination(config.servers[0], around, words, "")
    patient.listing = Listing((RemoteTool("s", "bad", "", False), RemoteTool("s", "good", "", {})))
    Offered(config, [patient], data_dir, words).tell(patient)
    assert "left out, no model accepts their parameters: mcp_s_bad" in patient.diagnosis().steps[-1].hint
    patient = Examination(config.servers[0], around, words, "")
    patient.listing = Listing((RemoteTool("s", "bad", "", False),))
    Offered(config, [patient], data_dir, words).tell(patient)
    assert not patient.well


async def test_a_container_is_told_where_its_programs_must_be(
    write_config: Write, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "in_container", lambda: True)
    file = write_config(nowhere("npx"))
    assert "this is a container" in (await failure(file, "en", data_dir)).hint
    assert "这里是容器" in (await failure(file, "zh", data_dir)).hint


@pytest.mark.skipif(os.name == "nt", reason="uses links and permissions of POSIX")
async def test_of_several_programs_of_one_name_the_one_that_runs_is_told(
    write_config: Write, tmp_path: Path, data_dir: Path
) -> None:
    for folder in ("one", "two", "three"):
        (tmp_path / folder).mkdir()
    (tmp_path / "two" / "server").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tmp_path / "two" / "server").chmod(0o755)
    (tmp_path / "one" / "server").symlink_to(tmp_path / "two" / "server")  # the same program
    shutil.copy(tmp_path / "two" / "server", tmp_path / "three" / "server")
    path = os.pathsep.join(str(tmp_path / folder) for folder in ("one", "two", "three"))
    text = odd("s", "normal", more=f'env = {{ PATH = "{path}:/bin:/usr/bin" }}').replace("{python}", "server")
    (found,) = await examine(write_config(text), "en", data_dir)
    told = found.steps[2].detail
    assert told == f"{tmp_path}/one/server, the first of several; also {tmp_path}/three/server"


BOM = "\ufeff"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOM + "[mcp]\n", ("save it as UTF-8 without BOM", "另存为不带 BOM")),
        pytest.param(
            "[mcp.servers]\noff = {\n  enabled = false,\n}\n",
            ("MaiBot reads config.toml as TOML 1.0 and would refuse it", "按 TOML 1.0 读取"),
            marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="has no parser for TOML 1.0"),
        ),
        ("[mcp]\n", ("", "")),
    ],
)
def test_a_file_that_maibot_would_refuse_is_told(write_config: Write, text: str, said: tuple[str, str]) -> None:
    file = write_config(text)
    load_config(file)  # we ourselves read it
    for index, language in enumerate(LANGUAGES):
        found = host_objection(file, Words(language))
        assert said[index] in found
        assert bool(found) == bool(said[index])


def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mcp_bridge", "doctor", *words],
        cwd=FOLDER,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_the_document_is_exactly_as_promised_and_secrets_are_in_nothing(write_config: Write) -> None:
    entries = (
        BOM
        + odd("good", "normal")
        + odd("leaks", "leaky_exit", more='env = { API_TOKEN = "s3cr3t-token", MODE = "${SECRET_X}" }')
        + "[mcp.servers.off]\nenabled = false\n"
    )
    done = run("--config", str(write_config(entries)), "--json", "-v", SECRET_X="s3cr3t-variable")
    document = json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert done.returncode == 3
    assert list(document) == ["servers"]
    assert all(list(one) == ["name", "ok", "steps"] for one in document["servers"])
    assert all(list(step) == ["step", "ok", "detail", "hint"] for one in document["servers"] for step in one["steps"])
    assert [(one["name"], one["ok"]) for one in document["servers"]] == [
        ("good", True),
        ("leaks", False),
        ("off", True),
    ]
    off = document["servers"][2]["steps"]
    assert [(one["step"], one["ok"]) for one in off] == [("config", True)]
    assert "enabled = false" in off[0]["detail"]
    assert all("BOM" in one["steps"][0]["hint"] for one in document["servers"])
    assert "BOM" in done.stderr
    assert "s3cr3t" not in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


async def test_a_secret_is_masked_and_hidden_text_is_gone_wherever_it_stands(
    write_config: Write, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_X", "S3cr3t-Variable")
    step = await failure(write_config(entry(command="${SECRET_X}")), "en", data_dir)
    assert "program not found: ***" in step.detail
    assert "s3cr3t" not in str(step).lower()
    file = write_config('[mcp.servers.s]\ncommand = "gone-\\u202e\\u001b[31mserver"\n')
    step = await failure(file, "en", data_dir)
    assert "install gone-server, or put" in step.hint


def test_people_read_it_in_the_language_of_their_locale(write_config: Write) -> None:
    file = write_config(odd("good", "normal") + nowhere("npx").replace("servers.s", "servers.bad"))
    done = run("--config", str(file), LC_ALL="zh_CN.UTF-8")
    assert done.returncode == 3
    for words in ("good: 正常", "bad: 失败", "安装 Node.js", "2 个服务器中有 1 个失败"):
        assert words in done.stdout
    done = run("--config", str(file), "--lang", "en", LC_ALL="zh_CN.UTF-8")
    for words in ("good: ok", "bad: FAILED", "fix: install Node.js", "1 of 2 servers fail"):
        assert words in done.stdout


@pytest.mark.parametrize(
    ("words", "said"), [(("--lang", "fr"), "invalid choice"), (("--config", "/no/such.toml"), "cannot be read")]
)
def test_wrong_use_is_status_2_and_one_document(words: tuple[str, ...], said: str) -> None:
    done = run(*words, "--json")
    assert done.returncode == 2
    assert said in json.loads(done.stdout)["error"]["message"]
    assert "Traceback" not in done.stderr


def test_nothing_is_needed_that_a_bot_does_not_have(write_config: Write, tmp_path: Path) -> None:
    for package in ("rich", "loguru", *(["tomli"] if sys.version_info >= (3, 11) else [])):
        (tmp_path / "bare" / package).mkdir(parents=True)
        (tmp_path / "bare" / package / "__init__.py").write_text("raise ImportError('not in this bot')\n")
    # find_spec would see our stand-in for tomli: a bot simply has none.
    (tmp_path / "bare" / "sitecustomize.py").write_text(
        "import importlib.util as u, sys\nsys.modules['tomli'] = None\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'tomli' else find(name, *more)\n"
        if sys.version_info >= (3, 11)
        else ""
    )
    file = write_config(odd("good", "normal"))
    done = run("--config", str(file), "--lang", "en", PYTHONPATH=str(tmp_path / "bare"))
    assert (done.returncode, "all is well; servers checked: 1" in done.stdout) == (0, True), done.stderr


async def test_a_python_without_the_sdk_is_told_before_any_server_is_blamed(
    write_config: Write, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp_bridge._sdk", None)
    with pytest.raises(BridgeError, match=r"the package mcp .* cannot be used"):
        await examine(write_config(odd("s", "normal")), "en", data_dir)


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW", "LC_ALL": "en_US.UTF-8"}, "en"),
        ({"LC_ALL": "", "LANG": "zh"}, "zh"),
        ({"LANG": "C.UTF-8"}, "en"),
    ],
)
def test_the_language_is_that_of_the_locale(environ: dict[str, str], language: str) -> None:
    assert system_language(environ) == language


@pytest.mark.parametrize(
    ("line", "case", "name"),
    [
        ("ModuleNotFoundError: No module named 'mcp.server'", "module", "mcp.server"),
        ("Error: Cannot find module '/srv/index.js'", "script", "/srv/index.js"),
        ("python: can't open file '/srv/gone.py': [Errno 2] No such file or directory", "script", "/srv/gone.py"),
        ("Error: listen EADDRINUSE: address already in use :::3000", "port", ""),
        ("BRAVE_API_KEY environment variable is required", "env", "BRAVE_API_KEY"),
        ("Error: missing GITHUB_PERSONAL_ACCESS_TOKEN", "env", "GITHUB_PERSONAL_ACCESS_TOKEN"),
        ("server: error: the following arguments are required: --db", "usage", ""),
        ("docker: Cannot connect to the Docker daemon at unix:///x. Is it running?", "daemon", ""),
        ("docker: Error response from daemon: pull access denied for x", "package", ""),
        ("npm error 404 Not Found - GET x; npm error code E404", "package", "E404"),
        ("goodbye", None, None),
    ],
)
def test_last_words_are_understood(line: str, case: str | None, name: str | None) -> None:
    found = understand(["started", line, "bye"], by_launcher=True)
    assert (found and found.case, found and found.name) == (case, name)


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_every_text_is_there_in_both_languages_and_tells_the_same() -> None:
    for key, (english, chinese) in TEXTS.items():
        assert placeholders(english) == placeholders(chinese), key
    for name, advice in CASEBOOK.items():
        assert all(advice.cause + advice.fix), name
        assert placeholders(advice.fix[0]) >= placeholders(advice.fix[1]), name
        known = {"message", "name", "which", "launcher", "host", "status", "server", "most", "names", "count"}
        assert placeholders("".join(advice.cause + advice.fix)) <= known, name


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 407, 418, 429, 500, 503, None])
def test_every_http_status_has_advice_that_can_be_told(status: int | None) -> None:
    error = ServerUnavailable("it failed", cause="status", status=status)
    for transport in ("http", "sse", "auto"):
        config = ServerConfig("s", transport=transport, url="http://h.invalid/mcp")  # type: ignore[arg-type]
        case = case_of(error, config, Asides())
        for language in LANGUAGES:
            cause, fix = CASEBOOK[case.advice].told(Words(language), {**case.values, "message": "it failed"})
            assert "it failed" in cause
            assert fix
