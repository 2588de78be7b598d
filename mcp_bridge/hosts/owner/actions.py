"""What an owner can see and do while the bot runs, in the chat or on a page."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Protocol

from ...aio import run_in_thread
from ...bridge.bridge import ServerStatus
from ...bridge.thread import BridgeThread
from ...calls.call_stats import CallStats, Figures
from ...config.bridge_config import BridgeConfig
from ...errors import BridgeError, ServerUnavailable, ToolNotFound
from ...tools.failure_text import result_text
from ...tools.tool import Tool
from .switches import Switches
from .texts import OwnerTexts

logger = logging.getLogger(__name__)


class RunningServers(Protocol):
    """The servers that a bot's plugin runs."""

    @property
    def bridge(self) -> BridgeThread | None:
        """The bridge, None while the plugin does not run."""

    @property
    def config(self) -> BridgeConfig:
        """The configuration as in the file, without the owner's switches."""

    async def apply(self) -> None:
        """Apply the configuration with the owner's switches to the running bridge."""


@dataclass(frozen=True)
class TryResult:
    """The outcome of a tool that the owner has tried; `text` is its answer or the error."""

    name: str
    text: str
    ok: bool
    seconds: float


class OwnerActions:
    """Shows the running servers to the owner, switches them and tries their tools."""

    def __init__(self, running: RunningServers, switches: Switches) -> None:
        self._running = running
        self.switches = switches

    @property
    def texts(self) -> OwnerTexts:
        """The texts in the owner's language."""
        return OwnerTexts(self.config.language)

    @property
    def config(self) -> BridgeConfig:
        """The configuration as in the file, without the owner's switches."""
        return self._running.config

    @property
    def call_stats(self) -> CallStats:
        """The call statistics."""
        bridge = self._running.bridge
        return bridge.call_stats if bridge is not None else CallStats()

    def servers(self) -> list[ServerStatus]:
        """Return the state of every server."""
        bridge = self._running.bridge
        return bridge.status() if bridge is not None else []

    def tools(self) -> list[Tool]:
        """Return all offered tools."""
        bridge = self._running.bridge
        return bridge.tools() if bridge is not None else []

    def figures(self, tool: Tool) -> Figures:
        """Return the call statistics of a tool."""
        return self.call_stats.tool(tool.server, tool.remote_name)

    async def refresh(self) -> int:
        """List the tools of all servers again, also of failed ones; return the number of tools."""
        await self._bridge().refresh()
        return len(self.tools())

    async def switch(self, server: str, *, on: bool) -> str:
        """Switch a server on or off until it is switched again; return the answer to the owner."""
        entries = {one.name: one for one in self.config.servers}
        if server not in entries:
            return self.texts("no_server", name=server, names=", ".join(entries))
        if on and not entries[server].enabled:
            return self.texts("off_in_file", name=server)
        await run_in_thread(self.switches.turn, server, on=on)
        logger.info("the owner switched MCP server '%s' %s", server, "on" if on else "off")
        await self._running.apply()
        return self.texts("on" if on else "off", name=server)

    async def try_tool(self, name: str, arguments: str) -> TryResult:
        """Call a tool as the owner's own program: rules about chats, users, rates and consent do not apply."""
        began = time.perf_counter()
        try:
            result = await self._bridge().call(name, arguments)
        except ToolNotFound as error:
            return TryResult(name, error.message, False, 0.0)
        except BridgeError as error:
            return TryResult(name, error.message, False, time.perf_counter() - began)
        tool = next((tool for tool in self.tools() if tool.name == name), None)
        text = result_text(result, tool.server, tool.remote_name) if tool else result.text
        return TryResult(name, text, not result.is_error, time.perf_counter() - began)

    def _bridge(self) -> BridgeThread:
        """Return the bridge. Raises `ServerUnavailable` while the plugin does not run."""
        bridge = self._running.bridge
        if bridge is None:
            raise ServerUnavailable(self.texts("not_running"))
        return bridge
