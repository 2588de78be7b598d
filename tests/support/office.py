"""A bot's owner without a bot: a running bridge, the owner's actions, and the messages sent to the owner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_bridge import BridgeConfig
from mcp_bridge.bridge.thread import BridgeThread
from mcp_bridge.hosts.owner.actions import OwnerActions
from mcp_bridge.hosts.owner.background import BackgroundTasks
from mcp_bridge.hosts.owner.chats import ChatStreams
from mcp_bridge.hosts.owner.command import OwnerCommand
from mcp_bridge.hosts.owner.consent import Consents
from mcp_bridge.hosts.owner.numbers import Numbers
from mcp_bridge.hosts.owner.switches import Switches
from mcp_bridge.tools.tool import RemoteTool, Tool, present

SECRET = "sk-planted-0123456789"


class Office:
    """A running bridge with the owner's actions, and the messages sent to the owner."""

    def __init__(self, config: BridgeConfig, folder: Path) -> None:
        self.config = config
        self.switches = Switches(folder / "switches.json")
        self.bridge: BridgeThread | None = BridgeThread(config, data_dir=folder / "data")
        self.actions = OwnerActions(self, self.switches)
        self.tasks = BackgroundTasks()
        self.chats = ChatStreams()
        self.said: list[str] = []
        self.consents = Consents(self.actions, self.chats, self._say_in, Numbers(folder / "questions.json"))
        self.command = OwnerCommand(self.actions, self.consents)

    async def type(self, words: str, stream: str = "stream") -> str:
        """Type `/mcp` and these words in a chat; return what was answered."""
        before = len(self.said)
        await self.command.run(words, stream, self._say)
        return "\n".join(self.said[before:])

    async def apply(self) -> None:
        """Apply the configuration with the switches, as a plugin does."""
        assert self.bridge is not None
        await self.bridge.reconfigure(self.switches.apply(self.config))

    async def _say(self, text: str) -> None:
        self.said.append(text)

    async def _say_in(self, stream: str, text: str) -> bool:
        self.said.append(text)
        return bool(stream)


@asynccontextmanager
async def office(config: BridgeConfig, folder: Path) -> AsyncIterator[Office]:
    one = Office(config, folder)
    assert one.bridge is not None
    bridge = one.bridge
    bridge.start()
    try:
        assert await asyncio.to_thread(bridge.wait_ready, 60)
        yield one
    finally:
        bridge.close_soon()
        assert await asyncio.to_thread(bridge.join, 30)


def named_tool(name: str = "t", **annotations: bool) -> Tool:
    tool = present(f"mcp_s_{name}", RemoteTool("s", name, "d", {"type": "object"}, annotations))
    assert tool is not None
    return tool
