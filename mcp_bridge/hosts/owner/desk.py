"""What an owner sees and does while the bot runs, whether in the chat or on the page."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ...bridge.bridge import ServerStatus
from ...bridge.thread import BridgeThread
from ...calls.ledger import CallStats, Figures
from ...config.bridge_config import BridgeConfig
from ...errors import BridgeError, ServerUnavailable, ToolNotFound
from ...tools.failure_text import result_text
from ...tools.tool import Tool
from .switches import Switches
from .texts import OwnerTexts

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trial:
    """A tool tried by the owner; `text` is its answer or why there is none."""

    name: str
    text: str
    ok: bool
    seconds: float


class OwnerActions:
    """The running servers in the owner's hands.

    `bridge` returns the bridge, None while the plugin is off; `config` the configuration as
    the file says it; `take_in` has a configuration take effect, with the switches applied.
    """

    def __init__(
        self,
        bridge: Callable[[], BridgeThread | None],
        config: Callable[[], BridgeConfig],
        take_in: Callable[[], Awaitable[None]],
        switches: Switches,
    ) -> None:
        self._bridge = bridge
        self._config = config
        self._take_in = take_in
        self.switches = switches

    @property
    def words(self) -> OwnerTexts:
        """The texts in the owner's language."""
        return OwnerTexts(self._config().language)

    @property
    def config(self) -> BridgeConfig:
        """The configuration as the file says it."""
        return self._config()

    @property
    def ledger(self) -> CallStats:
        """What is remembered of the calls."""
        bridge = self._bridge()
        return bridge.ledger if bridge is not None else CallStats()

    def servers(self) -> list[ServerStatus]:
        """Return the state of every server."""
        bridge = self._bridge()
        return bridge.status() if bridge is not None else []

    def tools(self) -> list[Tool]:
        """Return all tools that are offered."""
        bridge = self._bridge()
        return bridge.tools() if bridge is not None else []

    def figures(self, tool: Tool) -> Figures:
        """Return the counts of a tool."""
        return self.ledger.tool(tool.server, tool.remote_name)

    async def refresh(self) -> int:
        """Look at all servers again, also at those that were given up; return how many tools there are."""
        await self._running().refresh()
        return len(self.tools())

    async def switch(self, server: str, *, on: bool) -> str:
        """Switch a server on or off; return what to say. It stays so until it is switched again."""
        entries = {one.name: one for one in self._config().servers}
        if server not in entries:
            return self.words("no_server", name=server, names=", ".join(entries))
        if on and not entries[server].enabled:
            return self.words("off_in_file", name=server)
        self.switches.turn(server, on=on)
        logger.info("MCP server '%s' was switched %s by the owner", server, "on" if on else "off")
        await self._take_in()
        return self.words("on" if on else "off", name=server)

    async def try_tool(self, name: str, arguments: str) -> Trial:
        """Call a tool as the owner's own program would: no rule about chats, rates or consent applies."""
        began = time.perf_counter()
        try:
            result = await self._running().call(name, arguments)
        except ToolNotFound as error:
            return Trial(name, error.message, False, 0.0)
        except BridgeError as error:
            return Trial(name, error.message, False, time.perf_counter() - began)
        tool = next((tool for tool in self.tools() if tool.name == name), None)
        text = result_text(result, tool.server, tool.remote_name) if tool else result.text
        return Trial(name, text, not result.is_error, time.perf_counter() - began)

    def _running(self) -> BridgeThread:
        bridge = self._bridge()
        if bridge is None:
            raise ServerUnavailable(self.words("not_running"))
        return bridge
