"""One server behind a bridge on its own thread, opened and closed by whoever asks, in any order.

Any task of any loop may use it, since nothing of it lives in the caller's loop.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import difflib
import logging
import weakref
from collections.abc import Mapping
from typing import Any

from .catalog import MAX_TOOLS, Tool
from .cleaning import clean_label, truncate
from .config import parse_config
from .errors import CallTimeout, ConfigError, ServerUnavailable
from .result import ToolResult
from .thread import BridgeThread

logger = logging.getLogger(__name__)

START_MARGIN_SECONDS = 5.0
"""Added to the server's own limits while waiting for it, so that its own reason is told."""
CLOSE_SECONDS = 20.0
"""How long `close` waits for the server to end; its sessions take 8 s at the most."""
_NEAR_NAMES = 5


class OneServer:
    """A configured server; closed by itself when nobody refers to this object any more."""

    def __init__(self, name: str, entry: Mapping[str, Any]) -> None:
        """Check the entry, which may hold `${VAR}` as in a configuration file; nothing is started.

        Raises `ConfigError` if the entry cannot be used, and `TypeError` for a key that there is not.
        """
        self._config = parse_config({"mcp": {"max_tools": MAX_TOOLS, "servers": {name: entry}}})
        self.config = self._config.servers[0]
        if self.config.warnings:
            raise TypeError(f"MCP server '{name}': {'; '.join(self.config.warnings)}")
        if self.config.error:
            raise ConfigError(f"MCP server '{name}': {self.config.error}")
        self._bridge: BridgeThread | None = None
        self._end: weakref.finalize[Any, Any] | None = None
        self._running: set[concurrent.futures.Future[ToolResult]] = set()
        self.is_open = False

    async def open(self) -> None:
        """Start the server, unless it is open, and wait for it. Raises `ServerUnavailable`."""
        if self.is_open:
            return
        bridge = self._bridge
        if bridge is None:
            bridge = self._bridge = BridgeThread(self._config)
            self._end = weakref.finalize(self, bridge.close_soon)
            bridge.start()
        limit = max(self.config.connect_timeout, self.config.first_start_timeout) + START_MARGIN_SECONDS
        try:
            await asyncio.to_thread(bridge.wait_ready, limit)
        except asyncio.CancelledError:
            self._begin_to_close()
            raise
        closed = self._bridge is not bridge
        status = bridge.status()
        if status and status[0].state == "ready" and not closed:
            self.is_open = True
            return
        if not closed:
            await self.close()
        reason = status[0].reason if status else ""
        raise self._unavailable(reason or ("it was closed while it was starting" if closed else "it does not start"))

    async def tools(self, *, anew: bool = False) -> list[Tool]:
        """Return the tools as last listed, or `anew`. Raises `ServerUnavailable` if it cannot be used now."""
        bridge = self._opened()
        if anew:
            await bridge.refresh()
        status = bridge.status()[0]
        if status.state == "failed":
            raise self._unavailable(status.reason)
        return bridge.tools()

    async def find(self, name: str) -> Tool:
        """Return a tool by the server's own name for it, or its public one, listing anew if it is not known.

        Raises `ValueError` with similar names if there is none, else as `tools`.
        """
        for anew in (False, True):
            tools = await self.tools(anew=anew)
            for tool in tools:
                if name in (tool.remote_name, tool.name):
                    return tool
        names = [truncate(clean_label(tool.remote_name), 80) for tool in tools]
        near = difflib.get_close_matches(name, names, _NEAR_NAMES, cutoff=0.3) or names[:_NEAR_NAMES]
        hint = f"near: {', '.join(near)}" if near else "it has none"
        raise ValueError(f"MCP server '{self.config.name}' has no tool '{name}'; {hint}")

    async def call(self, name: str, arguments: Mapping[str, Any], seconds: float | None = None) -> ToolResult:
        """Call a tool by its public name; `seconds` limits the call further than the configuration.

        Raises what `Bridge.call` raises, and `ServerUnavailable` when it is closed meanwhile.
        """
        future = self._opened().submit(name, arguments)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        waiting = asyncio.wrap_future(future)
        try:
            # Not `wait_for`: who cancelled it, the caller or `close`, must be told apart.
            await asyncio.wait({waiting}, timeout=seconds)
            if not waiting.done():
                raise CallTimeout(f"no answer within {seconds:g} s (execution_timeout)", server=self.config.name)
        finally:
            waiting.cancel()
        if waiting.cancelled():
            raise self._unavailable("it was closed while the call was running")
        return waiting.result()

    async def close(self) -> bool:
        """End running calls, the sessions and the server; tell whether all has ended. Safe to repeat."""
        bridge = self._begin_to_close()
        if bridge is None or await asyncio.to_thread(bridge.join, CLOSE_SECONDS):
            return True
        logger.warning("MCP server '%s' did not end within %g s", self.config.name, CLOSE_SECONDS)
        return False

    def _begin_to_close(self) -> BridgeThread | None:
        bridge, self._bridge, self.is_open = self._bridge, None, False
        for future in tuple(self._running):
            future.cancel()
        if self._end is not None:
            self._end()
        return bridge

    def _opened(self) -> BridgeThread:
        if self._bridge is None:
            raise self._unavailable("it is closed")
        return self._bridge

    def _unavailable(self, reason: str) -> ServerUnavailable:
        name = self.config.name
        return ServerUnavailable(f"MCP server '{name}' is not available: {reason}", server=name)
