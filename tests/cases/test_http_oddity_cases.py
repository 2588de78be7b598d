"""Remote servers: single answers, headers and events that are not what the protocol says, and what they may cost."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_bridge import Bridge, ServerUnavailable, load_config
from mcp_bridge._sdk import httpx
from mcp_bridge.connection import Connection
from mcp_bridge.process.guardian import Guardian
from mcp_bridge.redaction import Redactor
from mcp_bridge.transport import Route, Surroundings
from mcp_bridge.wire.http_failure import failure_in, from_exception
from mcp_bridge.wire.http_guard import HttpGuard
from mcp_bridge.wire.proxy import proxy_for

from ..conftest import GENEROUS
from ..servers.http_raw import Asked, raw_server
from .remote import at

Write = Callable[..., Path]


async def outcome(bridge: Bridge, tool: str = "odd") -> str:
    """Return what a call gives, with the kind of its failure; in good time, whatever it is."""
    try:
        result = await asyncio.wait_for(bridge.call(f"mcp_s_{tool}"), GENEROUS)
    except ServerUnavailable as error:
        return f"unavailable: {error.message}" if "'s'" in error.message else "its server is not named"
    return f"tool error: {result.text}" if result.is_error else result.text


async def beside(bridge: Bridge) -> tuple[str, str]:
    """Return what becomes of a call of `odd`, and of a call that runs beside it on the same session."""
    other = asyncio.create_task(outcome(bridge, "echo"))
    await asyncio.sleep(0.3)
    return await outcome(bridge), await other


def while_others_wait(odd: Callable[[Asked], object]) -> Callable[[Asked], object]:
    """Answer `odd` at once, and all other calls after a second."""

    def answer(asked: Asked) -> object:
        if asked.tool == "echo":
            time.sleep(1)
        return odd(asked) if asked.tool == "odd" else False

    return answer


@pytest.mark.parametrize("value", ["小明", "é"])
@pytest.mark.parametrize("name", ["X_Author", "Set_Cookie"])
async def test_a_chinese_name_in_a_header_ended_the_session_and_the_call_beside(
    write_config: Write, name: str, value: str
) -> None:
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
            assert f"the Mcp-Session-Id of {server.url} has other characters" in bridge.status()[0].reason


@pytest.mark.parametrize(
    ("status", "location", "said"),
    [
        (307, "http://[bad", "307 Temporary Redirect from {url}, a redirect to an address that cannot be read"),
        (307, "http://127.0.0.1:99999/mcp", "a redirect to an address that cannot be read"),
        (308, "http://127.0.0.1:abc/mcp", "a redirect to an address that cannot be read"),
        (307, "/a\x7f", "a redirect to an address that cannot be read"),
        (302, "http://[bad", "302 Found"),
        (300, "", "300 Multiple Choices from {url}, a redirect to no address"),
        (304, "", "304 Not Modified from {url}, a redirect to no address"),
        (200, "http://[bad", "done"),
    ],
)
async def test_an_address_that_nobody_can_read_ended_the_session_and_the_call_beside(
    write_config: Write, status: int, location: str, said: str
) -> None:
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


async def test_an_address_that_nobody_can_read_kept_a_call_of_an_old_server_waiting_for_its_limit(
    write_config: Write, caplog: pytest.LogCaptureFixture
) -> None:
    def redirected(asked: Asked) -> bool:
        return asked.tool == "odd" and asked.reply(307, Location="http://[bad")

    with raw_server(redirected, old=True) as server:
        async with Bridge(load_config(write_config(at(server.url, transport="sse", session="shared")))) as bridge:
            began = time.monotonic()
            assert "a redirect to an address that cannot be read" in await outcome(bridge)
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

    class Body(httpx.AsyncByteStream):  # type: ignore[misc,name-defined]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"{"
            raise error

        async def aclose(self) -> None:
            pass

    url = "http://127.0.0.1/mcp"
    guard = HttpGuard(Network(), url, limit=1000)
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
async def test_a_404_that_names_the_call_made_the_tool_run_twice(
    write_config: Write, text: str, code: int, made: int
) -> None:
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


async def test_the_stream_that_a_server_need_not_have_was_blamed_for_the_end_of_a_session() -> None:
    guard = HttpGuard(httpx.MockTransport(lambda request: httpx.Response(405)), "http://127.0.0.1/mcp", limit=1000)
    answer = await guard.handle_async_request(httpx.Request("GET", "http://127.0.0.1/mcp"))
    assert (answer.status_code, guard.failure) == (405, None)


@pytest.mark.parametrize("end", ["gone", "restarted", "no streams"])
@pytest.mark.parametrize("named", ["id: 1\ndata: \n\n", "event: ping\nid: é\ndata: 1\n\n"])
async def test_a_server_that_died_in_a_call_which_it_could_have_gone_on_with_kept_it_waiting(
    write_config: Write, end: str, named: str
) -> None:
    def die(asked: Asked) -> object:
        if asked.method == "GET" and asked.server.count("tools/call"):
            if asked.headers.get("last-event-id") is None:
                return asked.reply(405)
            return asked.close() if end == "gone" else asked.reply(404 if end == "restarted" else 405)
        if asked.tool != "odd":
            return False
        asked.stream(named)
        if end == "gone":
            asked.server.down()
        return asked.close()

    with raw_server(die) as server:
        async with Bridge(load_config(write_config(at(server.url, warm=0)))) as bridge:
            began = time.monotonic()
            told = await outcome(bridge)
            assert time.monotonic() - began < GENEROUS / 2  # 1 or 2 s; its limit is 60 s
        assert told.startswith("unavailable: tool 'odd' of MCP server 's': the connection was lost before the answer")
        assert {"gone": server.url, "restarted": "404 Not Found", "no streams": "405 Method"}[end] in told
        assert server.count("tools/call") == 1


async def test_two_calls_whose_streams_end_early_each_get_their_own_rest(write_config: Write) -> None:
    kept: dict[str, list[Asked]] = {"first": [], "second": []}

    def answer(asked: Asked) -> object:
        if asked.method == "GET":
            if (key := asked.headers.get("last-event-id", "")) not in kept:
                return asked.reply(405)
            waited = kept[key].pop(0)
            asked.stream(f"data: {json.dumps(waited.result(waited.message['params']['arguments']['n']))}\n\n")
            return asked.close()
        if asked.tool == "odd":
            key = asked.message["params"]["arguments"]["key"]
            kept[key].append(asked)
            asked.stream(f"id: {key}\nretry: 0\ndata: \n\n")
            return asked.close()
        return False

    with raw_server(answer) as server:
        async with Bridge(load_config(write_config(at(server.url, session="shared")))) as bridge:
            calls = [bridge.call("mcp_s_odd", {"n": f"{n}", "key": ("first", "second")[n % 2]}) for n in range(2)]
            results = await asyncio.wait_for(asyncio.gather(*calls), GENEROUS)
            assert [result.text for result in results] == ["0", "1"]
            assert server.count("tools/call") == 2


async def test_a_stream_that_ends_at_once_and_wants_no_pause_was_opened_hundreds_of_times_a_second(
    write_config: Write,
) -> None:
    def end(asked: Asked) -> object:
        return asked.method == "GET" and asked.stream("id: 1\nretry: 0\ndata: \n\n") and asked.close()

    with raw_server(end) as server:
        async with Bridge(load_config(write_config(at(server.url, warm=0, session="shared")))) as bridge:
            assert await outcome(bridge, "echo") == "hello"
            before = server.count("GET")
            await asyncio.sleep(2.2)
            assert server.count("GET") - before <= 3


async def test_a_second_endpoint_ended_the_session(write_config: Write, caplog: pytest.LogCaptureFixture) -> None:
    def again(asked: Asked) -> object:
        if asked.tool == "odd":
            asked.server.tell("event: endpoint\ndata: /elsewhere\n\n")
        return False

    with raw_server(again, old=True) as server:
        entry = at(server.url, transport="sse", session="shared", call_timeout=10)
        async with Bridge(load_config(write_config(entry))) as bridge:
            assert [await outcome(bridge), await outcome(bridge)] == ["hello", "hello"]
            assert server.count("initialize") == 1
        assert not [path for _, path, _, _ in server.asked if path == "/elsewhere"]
    assert [one for one in caplog.records if one.levelname == "ERROR"] == []


@pytest.mark.parametrize(
    ("endpoint", "said"),
    [
        (None, "the event stream ended before its `endpoint` event"),
        ("http://127.0.0.1:99999/x", "an address that cannot be used: http://127.0.0.1:99999/x"),
        ("http://[bad/x", "the server wants its messages at an address that cannot be used"),
        ("/messages?t=\x01", "the server wants its messages at an address that cannot be used"),
    ],
)
async def test_an_old_server_without_a_usable_endpoint_was_told_as_an_exception_group(
    write_config: Write, endpoint: str | None, said: str
) -> None:
    def end(asked: Asked) -> object:
        return asked.method == "GET" and endpoint is None and asked.stream() and asked.close()

    with raw_server(end, old=True) as server:
        server.endpoint = endpoint or ""
        async with Bridge(load_config(write_config(at(server.url, transport="sse")))) as bridge:
            assert said in bridge.status()[0].reason


async def test_an_answer_that_ended_with_a_carriage_return_was_seen_only_with_the_next_byte(
    write_config: Write,
) -> None:
    def answer(asked: Asked) -> object:
        if asked.tool != "odd":
            return False
        asked.stream(f"data: {json.dumps(asked.result('here'))}\r\r")
        time.sleep(5)
        return asked.close()

    with raw_server(answer) as server:
        async with Bridge(load_config(write_config(at(server.url, call_timeout=3)))) as bridge:
            assert await outcome(bridge) == "here"


@pytest.mark.parametrize(
    "host",
    "127.0.0.1 localhost LOCALHOST. a.localhost 0.0.0.0 0 127.1 127.255.0.3 0x7f000001 2130706433 "
    "[::1] [::] [::ffff:127.0.0.1] [::ffff:0.0.0.0]".split(),
)
def test_this_machine_under_another_of_its_names_was_reached_through_the_proxy(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
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


async def test_a_fault_inside_task_groups_was_told_as_an_exception_group(write_config: Write) -> None:
    class Faulty(Route):
        def openers(self) -> list[Any]:
            return [self._open]

        @asynccontextmanager
        async def _open(self) -> AsyncIterator[Any]:
            async with anyio.create_task_group(), anyio.create_task_group():
                raise KeyError("what really failed")
            yield

    config = load_config(write_config(at("http://127.0.0.1:9/mcp"))).servers[0]
    connection = Connection(config, Faulty(config, Surroundings(Guardian(), Redactor(), 1000)), str)
    with pytest.raises(ServerUnavailable, match=r"failed during connecting: KeyError: 'what really failed'$"):
        await connection.wait_ready(GENEROUS)


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
        (lambda asked: asked.reply(204, kind=""), "the server answered 204 with nothing"),
        (lambda asked: asked.reply(200), "the server answered 200 with nothing"),
        (lambda asked: asked.reply(200, b"{}"), "the server answered 200 with no answer in it"),
        (lambda asked: asked.reply(200, packed(asked)[:-12], **GZIP), "the server answered 200 with broken JSON"),
        (lambda asked: asked.reply(200, b"no gzip", **GZIP), "no answer from {url}: "),
    ],
)
async def test_a_page_nothing_or_half_an_answer_was_told_as_the_tools_own_error(
    write_config: Write, answer: Callable[[Asked], object], said: str
) -> None:
    with raw_server(while_others_wait(answer)) as server:
        async with Bridge(load_config(write_config(at(server.url, session="shared")))) as bridge:
            told, other = await beside(bridge)
            assert told.startswith("unavailable: tool 'odd' of MCP server 's': " + said.format(url=server.url))
            assert other == "hello"
            assert bridge.status()[0].state == "ready"


def packed(asked: Asked) -> bytes:
    return gzip.compress(json.dumps(asked.result("z" * 900)).encode())


async def test_the_words_of_a_chinese_proxy_in_gbk_were_told_as_question_marks(write_config: Write) -> None:
    def refuse(asked: Asked) -> object:
        words = "服务器内部错误".encode("gbk")
        return asked.tool == "odd" and asked.reply(500, words, "text/plain; charset=gbk")

    with raw_server(refuse) as server:
        async with Bridge(load_config(write_config(at(server.url)))) as bridge:
            assert "500 Internal Server Error" in (told := await outcome(bridge))
            assert "服务器内部错误" in told


@pytest.mark.parametrize("old", [False, True])
async def test_an_event_cut_in_its_middle_was_told_as_the_tools_own_error(write_config: Write, old: bool) -> None:
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
