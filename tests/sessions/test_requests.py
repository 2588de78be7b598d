"""What is told of a session that can answer no more, whatever carried it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_bridge.aio import Deadline
from mcp_bridge.config.server_config import ServerConfig
from mcp_bridge.errors import CallTimeout, NotSent, ServerUnavailable
from mcp_bridge.sessions.in_flight import Request, ToolCall
from mcp_bridge.sessions.requests import Conversation
from mcp_bridge.transport.channel import SideOutput

LIMITS = Deadline(60, 60)


class Ended:
    """A channel whose server has said at the end what it was given."""

    asides = SideOutput()

    async def receive(self) -> None:
        return None

    async def send(self, message: dict[str, Any], metadata: Any = None) -> None:
        raise OSError("gone")

    async def describe_end(self) -> str:
        return "500 Internal Server Error: no user has the token s3cr3t"


def conversation(transport: Any) -> Conversation:
    config = ServerConfig("s", transport=transport)
    return Conversation(config, lambda text: text.replace("s3cr3t", "***"), lambda: None)


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
async def test_a_secret_in_the_last_words_of_a_server_is_masked(transport: str) -> None:
    talk = conversation(transport)
    talk.channel, talk.phase, talk.ended = Ended(), "tools/call", True
    lost = await talk.loss(ServerUnavailable)
    assert lost.message == "the server stopped during tools/call (500 Internal Server Error: no user has the token ***)"
    assert (lost.server, lost.cause) == ("s", "exit" if transport == "stdio" else None)
    with pytest.raises(NotSent, match=r"the token \*\*\*"):
        await talk.call_tool(None, ToolCall("echo", {}), LIMITS)


async def test_a_call_for_a_session_that_is_over_has_certainly_not_been_made() -> None:
    with pytest.raises(NotSent, match="the session is closed"):
        await conversation("stdio").call_tool(None, ToolCall("echo", {}), LIMITS)


async def test_each_of_two_requests_at_once_keeps_its_own_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one to end took the clock of the other with it, which then waited for ever."""
    talk, answers = conversation("stdio"), [asyncio.get_running_loop().create_future() for _ in range(2)]
    begun = iter(answers)

    def begin(session: object, method: str, params: object) -> Request:
        return Request(0, next(begun))

    monkeypatch.setattr(talk.requests, "begin", begin)
    session: Any = object()
    short, long = (asyncio.create_task(talk.request(session, "ping", {}, seconds)) for seconds in (0.3, 20))
    await asyncio.sleep(0)
    answers[1].set_result({})
    assert await long == {}
    with pytest.raises(CallTimeout):
        await asyncio.wait_for(short, 10)
