"""Remote servers: streams that end early, start again, or never begin, and what they may cost."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from mcp_bridge import Bridge, load_config
from mcp_bridge._sdk import httpx
from mcp_bridge.transport.http.streamable_guard import StreamableHttpGuard
from tests.servers.http_raw import Asked, raw_server
from tests.support.calling import outcome
from tests.support.entries import Write
from tests.support.remote import at
from tests.support.waiting import GENEROUS


async def test_a_refused_optional_stream_is_not_taken_for_a_failure() -> None:
    """Reported: the stream that a server need not have was blamed for the end of a session."""
    guard = StreamableHttpGuard(
        httpx.MockTransport(lambda request: httpx.Response(405)), "http://127.0.0.1/mcp", limit=1000
    )
    answer = await guard.handle_async_request(httpx.Request("GET", "http://127.0.0.1/mcp"))
    assert (answer.status_code, guard.failure) == (405, None)


@pytest.mark.parametrize("end", ["gone", "restarted", "no streams"])
@pytest.mark.parametrize("named", ["id: 1\ndata: \n\n", "event: ping\nid: é\ndata: 1\n\n"])
async def test_a_resumable_call_ends_when_its_server_is_gone(write_config: Write, end: str, named: str) -> None:
    """Reported: a server that died in a call which it could have gone on with kept it waiting."""

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


async def test_a_stream_that_ends_at_once_is_opened_again_with_pauses(
    write_config: Write,
) -> None:
    """Reported: a stream that ends at once and wants no pause was opened hundreds of times a second."""

    def end(asked: Asked) -> object:
        return asked.method == "GET" and asked.stream("id: 1\nretry: 0\ndata: \n\n") and asked.close()

    with raw_server(end) as server:
        async with Bridge(load_config(write_config(at(server.url, warm=0, session="shared")))) as bridge:
            assert await outcome(bridge, "echo") == "hello"
            before = server.count("GET")
            await asyncio.sleep(2.2)
            assert server.count("GET") - before <= 3


async def test_a_second_endpoint_event_does_not_end_the_session(
    write_config: Write, caplog: pytest.LogCaptureFixture
) -> None:
    """Reported: a second endpoint ended the session."""

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
        ("http://127.0.0.1:99999/x", "an unusable address: http://127.0.0.1:99999/x"),
        ("http://[bad/x", "the server's `endpoint` event names an unusable address"),
        ("/messages?t=\x01", "the server's `endpoint` event names an unusable address"),
    ],
)
async def test_an_old_server_without_a_usable_endpoint_is_told_as_that(
    write_config: Write, endpoint: str | None, said: str
) -> None:
    """Reported: an old server without a usable endpoint was told as an exception group."""

    def end(asked: Asked) -> object:
        return asked.method == "GET" and endpoint is None and asked.stream() and asked.close()

    with raw_server(end, old=True) as server:
        server.endpoint = endpoint or ""
        async with Bridge(load_config(write_config(at(server.url, transport="sse")))) as bridge:
            assert said in bridge.status()[0].reason


async def test_an_answer_that_ends_with_a_carriage_return_is_seen_at_once(
    write_config: Write,
) -> None:
    """Reported: an answer that ended with a carriage return was seen only with the next byte."""

    def answer(asked: Asked) -> object:
        if asked.tool != "odd":
            return False
        asked.stream(f"data: {json.dumps(asked.result('here'))}\r\r")
        time.sleep(5)
        return asked.close()

    with raw_server(answer) as server:
        async with Bridge(load_config(write_config(at(server.url, call_timeout=3)))) as bridge:
            assert await outcome(bridge) == "here"
