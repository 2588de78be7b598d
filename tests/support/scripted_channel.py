"""A channel without a server: prepared lines, then the answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp_bridge.transport.channel import SideOutput
from mcp_bridge.transport.framing import Broken, LineReader, Message

LIMIT = 2_000


class Scripted:
    """A channel whose server says the given lines, then answers what it was asked."""

    def __init__(self, said: list[bytes], result: Message) -> None:
        self.asides = SideOutput()
        self._reader = LineReader(LIMIT)
        self._said = b"".join(line + b"\n" for line in said)
        self._result = result
        self._messages: list[Message | Broken] = []
        self._asked = asyncio.Event()
        self._answered = False
        self.sent: list[Message] = []

    async def receive(self) -> Message | Broken | None:
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

    async def send(self, message: Message, metadata: Any = None) -> None:
        self.sent.append(message)
        if message.get("method") == "tools/call":
            self._asked.set()

    async def describe_end(self) -> str:
        return ""
