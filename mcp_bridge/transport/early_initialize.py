"""`initialize` before there is a session to send it: servers start while the SDK is still being imported."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import Any

from .channel import Channel
from .framing import Message, UnreadableAnswer

GREETING_ID = 0
"""Of the request that was sent ahead; the session gives it another when it comes to send it."""


class EarlyInitialize:
    """A channel on which `initialize` has been sent; the session's own is kept back, and gets the answer."""

    def __init__(self, channel: Channel) -> None:
        self.asides = channel.asides
        self.describe_end = channel.describe_end
        self._channel = channel
        self._id: Any = None
        self._asked = asyncio.Event()
        """Set when the session has made its own request, of which `_id` is the id."""
        self._answered = False

    async def receive(self) -> Message | UnreadableAnswer | None:
        message = await self._channel.receive()
        if self._answered or message is None or (isinstance(message, dict) and isinstance(message.get("method"), str)):
            return message
        await self._asked.wait()  # until then the session would not know whose answer it is
        named = message.id if isinstance(message, UnreadableAnswer) else message.get("id")
        if isinstance(named, bool) or named not in (GREETING_ID, str(GREETING_ID)):  # some turn it into text
            return message
        if isinstance(message, UnreadableAnswer):
            return replace(message, id=self._id)  # a better one may follow
        self._answered = True
        return {**message, "id": self._id}

    async def send(self, message: Message, metadata: Any = None) -> None:
        if not self._asked.is_set() and message.get("method") == "initialize":
            self._id = message["id"]
            self._asked.set()
        else:
            await self._channel.send(message, metadata)


async def greet(channel: Channel, params: dict[str, Any]) -> EarlyInitialize:
    """Send `initialize` with these parameters, and return the channel for the session."""
    with contextlib.suppress(OSError):  # the session will see that the connection is gone
        await channel.send({"jsonrpc": "2.0", "id": GREETING_ID, "method": "initialize", "params": params})
    return EarlyInitialize(channel)
