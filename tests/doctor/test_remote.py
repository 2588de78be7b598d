"""Broken remote servers: for each its cause and its fix, in both languages."""

from __future__ import annotations

import http.server
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.entries import Write
from tests.support.examining import LANGUAGES, examine, failing_step
from tests.support.remote import at, remote

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("no_children_left")]


REMOTE: dict[str, tuple[tuple[str, ...], str, dict[str, Any], str, tuple[str, str], tuple[str, str]]] = {
    "wrong path": (
        (),
        "/nothing",
        {},
        "connect",
        ("404 Not Found", "路径不对（"),
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
        ("lacks the permission", "权限不足"),
    ),
    "too many requests": (("http=429",), "/mcp", {}, "connect", ("429", "请求太频繁"), ("wait a minute", "等一分钟")),
    "gateway": (
        ("http=502",),
        "/mcp",
        {},
        "connect",
        ("502 Bad Gateway", "内部出错（"),
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
            step = await failing_step(file, language, data_dir)
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
            ("proxy http://127.0.0.1:9, used for http://server.invalid/mcp, refuses", "代理有问题"),
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
        step = await failing_step(write_config(at(url)), language, data_dir)
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
    assert f"proxy {proxy.origin} refused to connect to" in connect.detail
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
        step = await failing_step(file, "en", data_dir)
        assert ("not trusted" in step.detail, "set ca_file" in step.hint) == (True, True)
        step = await failing_step(file, "zh", data_dir)
        assert ("不信任服务器的证书" in step.detail, "请把 ca_file 设为" in step.hint) == (True, True)
    with remote(tmp_path) as plain:
        file = write_config(at(plain.origin.replace("http:", "https:") + "/mcp"))
        assert "write http:// in url" in (await failing_step(file, "en", data_dir)).hint
        assert "那个地址不支持 TLS" in (await failing_step(file, "zh", data_dir)).detail
    file = write_config(at("https://127.0.0.1:9/mcp", ca_file=str(tmp_path / "key.pem")))
    assert "readable PEM file" in (await failing_step(file, "en", data_dir)).hint
