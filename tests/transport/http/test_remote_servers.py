"""Remote servers: what their owner is told, and where secrets never go."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge import Bridge, ServerUnavailable, load_config
from tests.support.entries import Write
from tests.support.places import SERVERS
from tests.support.waiting import until

Serve = Callable[..., str]
pytestmark = [pytest.mark.process, pytest.mark.usefixtures("no_children_left")]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start an HTTP server in a mode and return its address without a path; its log is in `tmp_path`."""
    running: list[subprocess.Popen[bytes]] = []

    def start(mode: str, *options: str) -> str:
        command = [
            sys.executable,
            str(SERVERS / "http_server.py"),
            mode,
            f"log={tmp_path / 'http.log'}",
            *options,
        ]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        running.append(process)
        assert process.stdout is not None
        return f"http://127.0.0.1:{int(process.stdout.readline().split()[1])}"

    yield start
    for process in running:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def entry(url: str, **more: Any) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in more.items() if not isinstance(value, dict)]
    tables = [
        f"{key} = {{ {', '.join(f'{k} = {json.dumps(v)}' for k, v in value.items())} }}"
        for key, value in more.items()
        if isinstance(value, dict)
    ]
    return "\n".join(["[mcp.servers.s]", f'url = "{url}"', *lines, *tables, ""])


def requests(tmp_path: Path) -> list[dict[str, Any]]:
    """Return what the servers saw: method, path and headers of each HTTP request."""
    events = map(json.loads, (tmp_path / "http.log").read_text().splitlines())
    return [
        {**event, "headers": {name.lower(): value for name, value in event["headers"].items()}}
        for event in events
        if event["event"] == "http"
    ]


@pytest.mark.parametrize(
    ("options", "path", "transport"),
    [
        ((), "/mcp", "auto"),
        (("answer=json",), "/mcp", "http"),
        (("answer=sse",), "/mcp", "streamable-http"),
        ((), "/sse", "sse"),
        (("http=sse_only",), "/mcp", "auto"),
        (("http=sse_only", "status=404"), "/sse", "auto"),
        (("http=redirect_slash",), "/mcp", "auto"),
        (("http=no_session",), "/mcp", "auto"),
        (("get=405", "delete=405"), "/mcp", "auto"),
        (("http=notification_200",), "/mcp", "auto"),
        (("http=strict_version",), "/mcp", "auto"),
        (("http=sse_resume",), "/mcp", "auto"),
        (("http=sse_crlf", "answer=sse"), "/mcp", "auto"),
        (("http=sse_multiline", "answer=sse"), "/mcp", "auto"),
        (("http=sse_comments", "answer=sse"), "/mcp", "auto"),
        (("http=sse_bom", "answer=sse"), "/mcp", "auto"),
        (("http=sse_no_name", "answer=sse"), "/mcp", "auto"),
        (("endpoint=relative",), "/sse", "sse"),
        (("endpoint=absolute",), "/sse", "sse"),
    ],
)
async def test_every_ordinary_way_of_speaking_works(
    serve: Serve, write_config: Write, options: tuple[str, ...], path: str, transport: str
) -> None:
    more: dict[str, Any] = {} if transport == "auto" else {"transport": transport}
    if "http=no_session" in options:
        more["warm"] = 0  # the odd server has but one session then, and mixes up two that begin at once
    config = load_config(write_config(entry(serve("normal", *options) + path, **more)))
    async with Bridge(config) as bridge:
        assert [one.reason for one in bridge.status()] == [""]
        for text in ("一", "2", "三"):
            assert (await bridge.call("mcp_s_echo", {"text": text})).text == text


@pytest.mark.parametrize(
    ("options", "more", "said"),
    [
        (("http=401",), {}, "401 Unauthorized from http://127.0.0.1:{port}/mcp; check the token"),
        (("http=403",), {}, "403 Forbidden"),
        (("http=500",), {}, "500 Internal Server Error"),
        (("http=503",), {"transport": "http"}, "503 Service Unavailable"),
        (("http=401",), {"transport": "sse", "path": "/sse"}, "401 Unauthorized"),
        (("auth=right-token",), {"bearer": "wrong-token"}, "401 Unauthorized"),
        (
            ("endpoint=other_host",),
            {"transport": "sse", "path": "/sse"},
            "`endpoint` event names another origin",
        ),
        (("mount=/gw", "endpoint=absolute"), {"transport": "sse", "path": "/gw/sse"}, "404 Not Found"),
        (("http=hang",), {"connect_timeout": 1}, "no answer to initialize within 1 s"),
    ],
)
async def test_a_server_that_refuses_is_shown_with_its_own_status(
    serve: Serve, write_config: Write, options: tuple[str, ...], more: dict[str, Any], said: str
) -> None:
    more = dict(more)
    base = serve("normal", *options)
    url = f"{base}{more.pop('path', '/mcp')}?key=s3cr3t-query"
    async with Bridge(load_config(write_config(entry(url, **more)))) as bridge:
        (status,) = bridge.status()
        assert said.replace("{port}", base.rpartition(":")[2]) in status.reason
        for word in ("s3cr3t", "ExceptionGroup", "Cancelled", "TaskGroup"):
            assert word not in status.reason
        assert status.state == ("failed" if "401" in said or "403" in said or "origin" in said else "retrying")


async def test_a_prefix_that_the_server_does_not_know_can_be_configured(serve: Serve, write_config: Write) -> None:
    base = serve("normal", "mount=/gw", "endpoint=absolute")
    config = load_config(write_config(entry(f"{base}/gw/sse", transport="sse", sse_prefix="/gw")))
    async with Bridge(config) as bridge:
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:9/mcp", "connection refused by http://127.0.0.1:9/mcp; is the server running?"),
        ("http://no-such-host.invalid/mcp", "host name 'no-such-host.invalid'"),
    ],
)
async def test_an_unreachable_server_is_told_as_such(write_config: Write, url: str, said: str) -> None:
    async with Bridge(load_config(write_config(entry(url)))) as bridge:
        assert said in bridge.status()[0].reason


async def test_headers_and_token_are_sent_and_the_token_is_in_no_text(
    serve: Serve, write_config: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    url = serve("leaky_stderr", "auth=tok-s3cr3t") + "/mcp"
    config = load_config(write_config(entry(url, bearer="tok-s3cr3t", headers={"X-Extra": "s3cr3t-extra"})))
    async with Bridge(config) as bridge:
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
        leak = await bridge.call("mcp_s_leak")
        assert "s3cr3t" not in leak.text + str(bridge.status())
    seen = requests(tmp_path)
    assert all(one["headers"]["authorization"] == "Bearer tok-s3cr3t" for one in seen)
    assert all(one["headers"]["x-extra"] == "s3cr3t-extra" for one in seen)
    assert "s3cr3t" not in "".join(record.getMessage() for record in caplog.records if "mcp_bridge" in record.name)


async def test_a_redirect_to_another_place_is_not_followed(serve: Serve, write_config: Write, tmp_path: Path) -> None:
    thief = serve("normal", f"log={tmp_path / 'thief.log'}")
    url = serve("normal", "http=redirect_other", f"url={thief}/mcp") + "/mcp"
    config = load_config(write_config(entry(url, bearer="tok-s3cr3t")))
    async with Bridge(config) as bridge:
        assert f"redirected to another address, {thief}/mcp" in bridge.status()[0].reason
    stolen = (tmp_path / "thief.log").read_text() if (tmp_path / "thief.log").exists() else ""
    assert '"http"' not in stolen


async def test_this_machine_is_never_reached_through_a_proxy(
    serve: Serve, write_config: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with Bridge(load_config(write_config(entry(serve("normal") + "/mcp")))) as bridge:
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"


def tell(url: str, path: str) -> None:
    urllib.request.urlopen(urllib.request.Request(url + path, method="POST"), timeout=10).close()


@pytest.mark.parametrize("session", ["fresh", "shared"])
async def test_a_restarted_server_costs_no_call(
    serve: Serve, write_config: Write, tmp_path: Path, session: str
) -> None:
    url = serve("count", "tools=sleep")
    async with Bridge(load_config(write_config(entry(url + "/mcp", session=session)))) as bridge:
        assert (await bridge.call("mcp_s_count")).text == "1"
        await asyncio.to_thread(tell, url, "/_odd/restart")
        results = await asyncio.gather(*(bridge.call("mcp_s_echo", {"text": str(n)}) for n in range(4)))
        assert [result.text for result in results] == ["0", "1", "2", "3"]
        if session == "shared":
            await until(lambda: bridge.status()[0].state == "ready")
            initialized = (tmp_path / "http.log").read_text().count('"method": "initialize"')
            assert initialized <= 3  # the first, and one for all four calls


async def test_a_second_404_is_reported_and_the_call_not_repeated_again(
    serve: Serve, write_config: Write, tmp_path: Path
) -> None:
    url = serve("normal", "http=404_calls") + "/mcp"
    async with Bridge(load_config(write_config(entry(url)))) as bridge:
        with pytest.raises(ServerUnavailable, match="404 Not Found"):
            await bridge.call("mcp_s_echo", {"text": "x"})
    assert (tmp_path / "http.log").read_text().count('"status": 404') == 2


@pytest.mark.parametrize("oddity", ["drop_mid_call", "reset_mid_call", "drop_mid_stream", "empty_stream"])
async def test_a_connection_lost_in_a_call_ends_it_at_once_and_only_it(
    serve: Serve, write_config: Write, tmp_path: Path, oddity: str
) -> None:
    url = serve("normal", f"http={oddity}", "times=1") + "/mcp"
    async with Bridge(load_config(write_config(entry(url, call_timeout=60)))) as bridge:
        with pytest.raises(ServerUnavailable, match="'s'"):
            await asyncio.wait_for(bridge.call("mcp_s_echo", {"text": "x"}), 20)
        assert (await bridge.call("mcp_s_echo", {"text": "again"})).text == "again"


@pytest.mark.parametrize("oddity", ["html", "bad_json", "empty_200", "accepted", "bad_event"])
async def test_an_answer_that_is_none_fails_only_its_call(serve: Serve, write_config: Write, oddity: str) -> None:
    url = serve("normal", f"http={oddity}", "times=1") + "/mcp"
    async with Bridge(load_config(write_config(entry(url)))) as bridge:
        with contextlib.suppress(ServerUnavailable):
            assert (await asyncio.wait_for(bridge.call("mcp_s_echo", {"text": "x"}), 20)).is_error
        assert (await bridge.call("mcp_s_echo", {"text": "again"})).text == "again"


@pytest.mark.parametrize("way", ["answer=json", "answer=sse", "/sse"])
@pytest.mark.parametrize(
    ("mode", "tool", "said"),
    [
        ("result_result_null", "result_null", "(no output)"),
        ("result_rpc_error_odd", "rpc_error_odd", "it broke"),
        ("result_unknown_type", "unknown_type", "known"),
        ("result_content_string", "content_string", "plain string"),
        ("nan_number", "deep", "nested too deeply"),
        ("surrogate", "lone", "before"),
        ("paginate", "page2_b", "page2_b"),
        ("id_string", "echo", "x"),
        ("id_null", "echo", "x"),
        ("stray_answers", "echo", "x"),
        ("unknown_notifications", "echo", "x"),
        ("asks_ping", "ask", "{}"),
        ("no_server_version", "echo", "x"),
        ("list_bare", "echo", "x"),
        ("unicode_separators", "separators", "begin"),
    ],
)
async def test_odd_answers_are_read_over_http_as_over_stdio(
    serve: Serve, write_config: Write, way: str, mode: str, tool: str, said: str
) -> None:
    if way == "/sse":
        text = entry(serve(mode) + "/sse", transport="sse", call_timeout=20)
    else:
        text = entry(serve(mode, way) + "/mcp", call_timeout=20)
    async with Bridge(load_config(write_config(text))) as bridge:
        result = await bridge.call(f"mcp_s_{tool}", {"text": "x"} if tool == "echo" else {})
        assert said in result.text


@pytest.mark.parametrize(("path", "transport"), [("/mcp", "http"), ("/sse", "sse")])
async def test_a_session_ends_quietly_while_the_server_is_talking(
    serve: Serve, write_config: Write, caplog: pytest.LogCaptureFixture, path: str, transport: str
) -> None:
    """The SDK logs a traceback if what it hands a message to is closed before it."""
    config = load_config(write_config(entry(serve("chatter") + path, transport=transport, warm=0)))
    async with Bridge(config) as bridge:
        for _ in range(5):
            assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
    assert [one.getMessage() for one in caplog.records if one.exc_info and one.name.startswith("mcp.")] == []
