"""What is told of a session that can answer no more, whatever carried it."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_bridge.conversation import Conversation
from mcp_bridge.deadline import Deadline
from mcp_bridge.errors import NotSent, ServerUnavailable
from mcp_bridge.outstanding import ToolCall
from mcp_bridge.server_config import ServerConfig
from mcp_bridge.wire.channel import Asides

LIMITS = Deadline(60, 60)


class Ended:
    """A channel whose server has said at the end what it was given."""

    asides = Asides()

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
