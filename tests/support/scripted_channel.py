"""Channels without a server: one that says prepared lines, and one that a test drives by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

from mcp_bridge.sessions.dispatcher import Dispatcher
from mcp_bridge.transport.channel import NO_HEADERS, Channel, SideOutput
from mcp_bridge.transport.correlation import Correlator
from mcp_bridge.transport.filter import Listener, MessageFilter
from mcp_bridge.transport.framing import LineReader, Message, UnreadableAnswer

LIMIT = 2_000


class Scripted:
    """A channel whose server says the given lines, then answers what it was asked."""

    def __init__(self, said: list[bytes], result: Message) -> None:
        self.asides = SideOutput()
        self._reader = LineReader(LIMIT)
        self._said = b"".join(line + b"\n" for line in said)
        self._result = result
        self._messages: list[Message | UnreadableAnswer] = []
        self._asked = asyncio.Event()
        self._answered = False
        self.sent: list[Message] = []
        self.side_output = SideOutput()

    async def receive(self) -> Message | UnreadableAnswer | None:
        await self._asked.wait()
        if not self._answered:
            self._answered = True
            (asked,) = [one["id"] for one in self.sent if one.get("method") == "tools/call"]
            answer = {"jsonrpc": "2.0", "id": asked, "result": self._result}
            self._said += json.dumps(answer).encode() + b"\n"
            for line in self._reader.feed(self._said):
                parsed = self._reader.parse(line)
                self._messages += parsed.messages
                if parsed.broken is not None:
                    self._messages.append(parsed.broken)
        if self._messages:
            return self._messages.pop(0)
        await asyncio.sleep(3600)
        return None

    async def send(self, message: Message, headers: Mapping[str, str] = NO_HEADERS) -> None:
        self.sent.append(message)
        if message.get("method") == "tools/call":
            self._asked.set()

    def use_protocol_version(self, version: str) -> None:
        pass

    async def describe_end(self) -> str:
        return ""


class Manual:
    """A channel whose server is the test: `say` and `end` are the server's side, `sent` what it has received."""

    def __init__(self, end: str = "it ended") -> None:
        self.sent: list[Message] = []
        self.headers: list[Mapping[str, str]] = []
        self.side_output = SideOutput()
        self.blocked = asyncio.Event()
        """While this is not set, nothing can be sent."""
        self.blocked.set()
        self._said: asyncio.Queue[Message | UnreadableAnswer | None] = asyncio.Queue()
        self._end = end
        self._ended = False

    def say(self, message: Message | UnreadableAnswer) -> None:
        self._said.put_nowait(message)

    def end(self) -> None:
        self._ended = True
        self._said.put_nowait(None)

    async def receive(self) -> Message | UnreadableAnswer | None:
        return await self._said.get()

    async def send(self, message: Message, headers: Mapping[str, str] = NO_HEADERS) -> None:
        await self.blocked.wait()
        if self._ended:
            raise OSError("gone")
        self.sent.append(message)
        self.headers.append(headers)

    def use_protocol_version(self, version: str) -> None:
        pass

    async def describe_end(self) -> str:
        return self._end


def dispatcher(
    channel: Channel, listener: Listener | None = None, *, roots: tuple[str, ...] | None = None
) -> Dispatcher:
    """Return a dispatcher over a channel, which accepts the defaults of forms."""
    requests = Correlator()
    message_filter = MessageFilter(requests, roots=roots, elicitation="defaults", listener=listener)
    return Dispatcher(channel, requests, message_filter, lambda: None)
