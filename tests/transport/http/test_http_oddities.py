"""Remote servers: single answers, headers and events that are not what the protocol says, and what they may cost."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from mcp_bridge import Bridge, ServerUnavailable, load_config
from mcp_bridge._sdk import httpx
from mcp_bridge.sessions.session import Session
from mcp_bridge.text.redaction import Redactor
from mcp_bridge.transport.http.addresses import proxy_for
from mcp_bridge.transport.http.failure import failure_in, from_exception
from mcp_bridge.transport.http.streamable_guard import StreamableHttpGuard
from mcp_bridge.transport.route import Route, SharedResources
from mcp_bridge.transport.stdio.guardian import Guardian
from tests.servers.http_raw import Asked, raw_server
from tests.support.calling import outcome
from tests.support.entries import Write
from tests.support.remote import at
from tests.support.waiting import GENEROUS


async def beside(bridge: Bridge) -> tuple[str, str]:
    """Return what becomes of a call of `odd`, and of a call that runs beside it on the same session."""
    other = asyncio.create_task(outcome(bridge, "echo"))
    await asyncio.sleep(0.1)
    return await outcome(bridge), await other


def while_others_wait(odd: Callable[[Asked], object]) -> Callable[[Asked], object]:
    """Answer `odd` at once, and all other calls after half a second."""

    def answer(asked: Asked) -> object:
        if asked.tool == "echo":
            time.sleep(0.5)
        return odd(asked) if asked.tool == "odd" else False

    return answer


@pytest.mark.parametrize("value", ["小明", "é"])
@pytest.mark.parametrize("name", ["X_Author", "Set_Cookie"])
async def test_a_chinese_name_in_a_header_costs_neither_its_call_nor_the_one_beside(
    write_config: Write, name: str, value: str
) -> None:
    """Reported: a Chinese name in a header ended the session and the call beside."""

    def answer(asked: Asked) -> bool:
        plain = "Set_Cookie" if name == "X_Author" else "X_Plain"
        return asked.reply(200, asked.result("done"), **{name: f"u={value}; Path=/", plain: "lb=2; Path=/"})

    with raw_server(while_others_wait(answer)) as server:
        async with Bridge(load_config(write_config(at(server.url, session="shared")))) as bridge:
            assert await beside(bridge) == ("done", "hello")
            assert await outcome(bridge) == "done"
            assert server.count("initialize") == 1
        sent = server.asked[-1][3].get("cookie", "")
        assert sent == ("lb=2" if name == "X_Author" else "")  # what keeps us at one of several servers


async def test_a_session_id_that_is_no_ascii_is_told_as_that(write_config: Write) -> None:
    with raw_server(session_id="é") as server:
        async with Bridge(load_config(write_config(at(server.url)))) as bridge:
            assert f"the Mcp-Session-Id of {server.url} is not visible ASCII" in bridge.status()[0].reason


@pytest.mark.parametrize(
    ("status", "location", "said"),
    [
        (307, "http://[bad", "307 Temporary Redirect from {url}, a redirect to an invalid address"),
        (307, "http://127.0.0.1:99999/mcp", "a redirect to an invalid address"),
        (308, "http://127.0.0.1:abc/mcp", "a redirect to an invalid address"),
        (307, "/a\x7f", "a redirect to an invalid address"),
        (302, "http://[bad", "302 Found"),
        (300, "", "300 Multiple Choices from {url}, a redirect without an address"),
        (304, "", "304 Not Modified from {url}, a redirect without an address"),
        (200, "http://[bad", "done"),
    ],
)
async def test_a_redirect_to_an_unreadable_address_costs_no_other_call(
    write_config: Write, status: int, location: str, said: str
) -> None:
    """Reported: an address that nobody can read ended the session and the call beside."""

    def answer(asked: Asked) -> bool:
        headers = {"Location": location} if location else {}
        return asked.reply(status, b"" if status == 304 else asked.result("done"), **headers)

    with raw_server(while_others_wait(answer)) as server:
        async with Bridge(load_config(write_config(at(server.url, session="shared")))) as bridge:
            told, other = await beside(bridge)
            assert said.format(url=server.url) in told
            assert told.startswith("unavailable") == (status != 200)
            assert other == "hello"
            assert await outcome(bridge, "echo") == "hello"
            assert server.count("initialize") == 1


async def test_a_redirect_of_an_old_server_to_an_unreadable_address_ends_its_call_at_once(
    write_config: Write, caplog: pytest.LogCaptureFixture
) -> None:
    """Reported: an address that nobody can read kept a call of an old server waiting for its limit."""

    def redirected(asked: Asked) -> bool:
        return asked.tool == "odd" and asked.reply(307, Location="http://[bad")

    with raw_server(redirected, old=True) as server:
        async with Bridge(load_config(write_config(at(server.url, transport="sse", session="shared")))) as bridge:
            began = time.monotonic()
            assert "a redirect to an invalid address" in await outcome(bridge)
            assert time.monotonic() - began < GENEROUS / 3  # moments; its limit is 60 s
            assert await outcome(bridge, "echo") == "hello"
            assert server.count("initialize") == 1
    assert [one for one in caplog.records if one.levelname == "ERROR"] == []


@pytest.mark.parametrize("error", [RuntimeError("oops"), httpx.InvalidURL("oops"), UnicodeError("oops")])
@pytest.mark.parametrize("place", ["request", "answer"])
async def test_whatever_goes_wrong_on_our_side_a_request_gets_an_answer(error: Exception, place: str) -> None:
    class Network:
        async def handle_async_request(self, request: Any) -> Any:
            if place == "request":
                raise error
            return httpx.Response(200, stream=Body())

    class Body(httpx.AsyncByteStream):  # type: ignore[misc]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"{"
            raise error

        async def aclose(self) -> None:
            pass

    url = "http://127.0.0.1/mcp"
    guard = StreamableHttpGuard(Network(), url, limit=1000)
    asked = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    answer = json.loads(await (await guard.handle_async_request(httpx.Request("POST", url, json=asked))).aread())
    assert answer["id"] == 7
    failure = failure_in(answer["error"]["data"])
    assert failure is not None
    assert failure.text == f"no answer from {url}: oops"


@pytest.mark.parametrize(
    ("text", "code", "made"),
    [
        ("mail sent, but order 17 not found", -32000, 1),
        ("no such order", -32001, 1),
        ("Session not found", -32600, 2),
        ("cannot use that session", -32001, 2),
    ],
)
async def test_a_404_that_names_the_call_is_not_followed_by_a_second_call(
    write_config: Write, text: str, code: int, made: int
) -> None:
    """Reported: a 404 that names the call made the tool run twice."""
    runs = 0

    def refuse(asked: Asked) -> bool:
        nonlocal runs
        runs += asked.tool == "odd"
        return asked.tool == "odd" and asked.reply(404, asked.error(text, code))

    with raw_server(refuse) as server:
        async with Bridge(load_config(write_config(at(server.url)))) as bridge:
            told = await outcome(bridge)
            assert told.startswith("tool error" if made == 1 else "unavailable")
            assert text in told
            assert runs == made


@pytest.mark.parametrize(
    "host",
    "127.0.0.1 localhost LOCALHOST. a.localhost 0.0.0.0 0 127.1 127.255.0.3 0x7f000001 2130706433 "
    "[::1] [::] [::ffff:127.0.0.1] [::ffff:0.0.0.0]".split(),
)
def test_every_name_of_this_machine_is_reached_without_the_proxy(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reported: this machine under another of its names was reached through the proxy."""
    monkeypatch.setenv("http_proxy", "http://proxy.invalid:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert proxy_for(f"http://{host}:8000/mcp") is None


@pytest.mark.parametrize(
    "host", ["128.1", "10.0.0.1", "localhost.example.com", "[::2]", "127.0.0.1.example.com", "1e3"]
)
def test_no_other_machine_is_taken_for_this_one(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.invalid:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert proxy_for(f"http://{host}:8000/mcp") == "http://proxy.invalid:3128"


async def test_a_failure_inside_task_groups_is_told_as_its_cause(write_config: Write) -> None:
    """Reported: a fault inside task groups was told as an exception group."""

    class Faulty(Route):
        def openers(self) -> list[Any]:
            return [self._open]

        @asynccontextmanager
        async def _open(self) -> AsyncIterator[Any]:
            async with anyio.create_task_group(), anyio.create_task_group():
                raise KeyError("what really failed")
            yield

    config = load_config(write_config(at("http://127.0.0.1:9/mcp"))).servers[0]
    session = Session(config, Faulty(config, SharedResources(Guardian(), Redactor(), 1000)), str)
    with pytest.raises(ServerUnavailable, match=r"failed during connecting: KeyError: 'what really failed'$"):
        await session.wait_ready(GENEROUS)


GZIP = {"Content_Encoding": "gzip"}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            lambda asked: asked.reply(200, b"<html>Sign in</html>", "text/html"),
            "the server answered 200 with 'text/html'",
        ),
        (
            lambda asked: asked.reply(202, b"<html>Sign in</html>", "text/html"),
            "the server answered 202 with 'text/html'",
        ),
        (lambda asked: asked.reply(202, b"Accepted", "text/plain"), "the server answered 202 with 'text/plain'"),
        (lambda asked: asked.reply(204, kind=""), "the server answered 204 with an empty body"),
        (lambda asked: asked.reply(200), "the server answered 200 with an empty body"),
        (lambda asked: asked.reply(200, b"{}"), "the server answered 200 with JSON that answers no request"),
        (lambda asked: asked.reply(200, packed(asked)[:-12], **GZIP), "the server answered 200 with broken JSON"),
        (lambda asked: asked.reply(200, b"no gzip", **GZIP), "no answer from {url}: "),
    ],
)
async def test_an_answer_that_is_a_page_empty_or_half_is_no_error_of_the_tool(
    write_config: Write, answer: Callable[[Asked], object], said: str
) -> None:
    """Reported: a page nothing or half an answer was told as the tool's own error."""
    with raw_server(while_others_wait(answer)) as server:
        async with Bridge(load_config(write_config(at(server.url, session="shared")))) as bridge:
            told, other = await beside(bridge)
            assert told.startswith("unavailable: tool 'odd' of MCP server 's': " + said.format(url=server.url))
            assert other == "hello"
            assert bridge.status()[0].state == "ready"


def packed(asked: Asked) -> bytes:
    return gzip.compress(json.dumps(asked.result("z" * 900)).encode())


async def test_the_words_of_a_chinese_proxy_in_gbk_can_be_read(write_config: Write) -> None:
    """Reported: the words of a Chinese proxy in GBK were told as question marks."""

    def refuse(asked: Asked) -> object:
        words = "服务器内部错误".encode("gbk")
        return asked.tool == "odd" and asked.reply(500, words, "text/plain; charset=gbk")

    with raw_server(refuse) as server:
        async with Bridge(load_config(write_config(at(server.url)))) as bridge:
            assert "500 Internal Server Error" in (told := await outcome(bridge))
            assert "服务器内部错误" in told


@pytest.mark.parametrize("old", [False, True])
async def test_an_event_cut_in_its_middle_is_no_error_of_the_tool(write_config: Write, old: bool) -> None:
    """Reported: an event cut in its middle was told as the tool's own error."""

    def cut(asked: Asked) -> object:
        if asked.tool != "odd":
            return False
        half = f"data: {json.dumps(asked.result('z' * 90))[:-40]}\n\n"
        if old:
            asked.server.tell(half)
            return asked.reply(202)
        asked.stream(half)
        return asked.close()

    with raw_server(cut, old=old) as server:
        entry = at(server.url, transport="sse" if old else "http", call_timeout=10)
        async with Bridge(load_config(write_config(entry))) as bridge:
            assert await outcome(bridge) == (
                "unavailable: tool 'odd' of MCP server 's': the server's answer is broken JSON"
            )
            assert await outcome(bridge, "echo") == "hello"


def test_a_port_that_is_none_is_told_and_not_a_task_group() -> None:
    group = type("Group", (Exception,), {"exceptions": (OverflowError("port must be 0-65535"),)})
    error = httpx.ConnectError("unhandled errors in a TaskGroup (1 sub-exception)")
    error.__cause__ = group("unhandled errors in a TaskGroup (1 sub-exception)")
    assert from_exception(error, "http://h/mcp").text == "no answer from http://h/mcp: port must be 0-65535"
