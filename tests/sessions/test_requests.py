"""Requests on one session: each within its own limit, and with the reason where it has no result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_bridge.aio import Deadline
from mcp_bridge.config.server_config import ServerConfig
from mcp_bridge.errors import CallTimeout, NotSent, RpcError, ServerUnavailable
from mcp_bridge.sessions.requests import Requests, ToolRequest
from tests.support.scripted_channel import Manual, dispatcher
from tests.support.waiting import until

LIMITS = Deadline(60, 60)
ECHO = ToolRequest("echo", {"text": "x"}, {"X-Trace": "1"})


@asynccontextmanager
async def requests_on(channel: Manual, transport: Any = "stdio") -> AsyncIterator[tuple[Requests, list[str]]]:
    retired: list[str] = []
    async with dispatcher(channel) as sending:
        config = ServerConfig("s", transport=transport)
        yield (
            Requests(config, sending, lambda text: text.replace("s3cr3t", "***"), lambda: retired.append("s")),
            retired,
        )


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
async def test_a_secret_in_the_last_words_of_a_server_is_masked(transport: str) -> None:
    channel = Manual("500 Internal Server Error: no user has the token s3cr3t")
    async with requests_on(channel, transport) as (requests, _):
        call = asyncio.create_task(requests.call_tool(ECHO, LIMITS))
        await until(lambda: bool(channel.sent))
        channel.end()
        with pytest.raises(ServerUnavailable) as caught:
            await call
    text = "the server stopped during tools/call (500 Internal Server Error: no user has the token ***)"
    assert caught.value.message == text
    assert (caught.value.server, caught.value.cause) == ("s", "exit" if transport == "stdio" else None)
    assert not isinstance(caught.value, NotSent)


async def test_a_call_that_could_not_leave_is_known_not_to_have_run() -> None:
    channel = Manual()
    async with requests_on(channel) as (requests, _):
        channel.end()
        with pytest.raises(NotSent, match="the server stopped during tools/call"):
            await requests.call_tool(ECHO, LIMITS)
        with pytest.raises(NotSent):  # begun after the end
            await requests.call_tool(ECHO, LIMITS)
    assert channel.sent == []


async def test_each_of_two_requests_at_once_keeps_its_own_limit() -> None:
    """The first one to end took the clock of the other with it, which then waited for ever."""
    channel = Manual()
    async with requests_on(channel) as (requests, _):
        short, long = (asyncio.create_task(requests.request("ping", {}, seconds)) for seconds in (0.3, 60))
        await until(lambda: len(channel.sent) == 2)
        channel.say({"jsonrpc": "2.0", "id": channel.sent[1]["id"], "result": {"n": 2}})
        assert await long == {"n": 2}
        with pytest.raises(CallTimeout):
            await asyncio.wait_for(short, 10)


async def test_progress_extends_the_limit_of_its_own_call_only() -> None:
    channel = Manual()
    async with requests_on(channel) as (requests, _):
        calls = [asyncio.create_task(requests.call_tool(ECHO, Deadline(0.5, 60))) for _ in range(2)]
        await until(lambda: len(channel.sent) == 2)
        (first, _) = (message["params"]["_meta"]["progressToken"] for message in channel.sent)
        for _ in range(8):
            await asyncio.sleep(0.1)
            requests.on_progress(first, "goes on")
        channel.say({"id": first, "result": {"content": []}})
        assert await calls[0] == {"content": []}
        with pytest.raises(CallTimeout):
            await calls[1]


@pytest.mark.parametrize("ends_by", ["timeout", "cancellation"])
async def test_the_server_is_notified_once_of_a_call_that_was_abandoned(ends_by: str) -> None:
    channel = Manual()
    async with requests_on(channel) as (requests, retired):
        call = asyncio.create_task(requests.call_tool(ECHO, Deadline(0.2, 0.2) if ends_by == "timeout" else LIMITS))
        await until(lambda: bool(channel.sent))
        if ends_by == "cancellation":
            call.cancel()
        await asyncio.wait({call})
        await requests.dispatcher.cancellations_sent()
        channel.say({"id": channel.sent[0]["id"], "result": {}})  # too late
        await asyncio.sleep(0)
    assert retired == ["s"]
    (cancelled,) = channel.sent[1:]
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == channel.sent[0]["id"]


async def test_an_error_response_reaches_its_caller_with_code_and_data() -> None:
    channel = Manual()
    async with requests_on(channel) as (requests, retired):
        call = asyncio.create_task(requests.call_tool(ECHO, LIMITS))
        await until(lambda: bool(channel.sent))
        channel.say({"id": 1, "error": {"code": -5, "message": "no s3cr3t", "data": [1]}})
        with pytest.raises(RpcError) as caught:
            await call
    assert (caught.value.code, caught.value.message, caught.value.data) == (-5, "no ***", [1])
    assert retired == []
    assert channel.headers == [{"X-Trace": "1"}]
