"""One server behind a bridge on its own thread, opened and closed by whoever asks, in any order.

Any task of any loop, and any thread, may use it, since nothing of it lives in the caller's loop.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import difflib
import logging
import threading
import weakref
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from ..bridge.bridge import ServerStatus
from ..bridge.thread import BridgeThread
from ..config.bridge_config import BridgeConfig
from ..errors import CallTimeout, McpSessionNotEstablishedError, ServerUnavailable
from ..text.cleaning import clean_label, truncate
from ..tools.result import ToolResult
from ..tools.tool import Tool

logger = logging.getLogger(__name__)

START_MARGIN_SECONDS = 5.0
"""Added to the server's own limits while waiting for it, so that its own reason is told."""
CLOSE_SECONDS = 20.0
"""How long `close` waits for the server to end; its sessions take 8 s at the most."""
_NEAR_NAMES = 5


class ToolsetState(str, Enum):
    """Where a toolset, or any one server, is in its life; equal to its name in lower case."""

    CREATED = "created"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    DISCONNECTING = "disconnecting"
    DISCONNECTED = "disconnected"
    __str__ = str.__str__


class SingleServer:
    """Owns the `BridgeThread` of a server from `open` to `close`, as often as that happens.

    Closed by itself when nobody refers to this object any more.
    """

    def __init__(self, name: str, config: Callable[[], BridgeConfig], fix: str = "connect it first") -> None:
        """`config` is asked at each start, for a configuration with this one server; `fix` says how to open it."""
        self.name = name
        self.state = ToolsetState.CREATED
        self._config = config
        self._fix = fix
        self._loss = ""
        self._bridge: BridgeThread | None = None
        self._limit = 0.0
        self._lock = threading.Lock()  # for state and bridge together
        self._running: set[concurrent.futures.Future[ToolResult]] = set()

    @property
    def is_open(self) -> bool:
        return self.state is ToolsetState.CONNECTED

    async def open(self) -> None:
        """Start the server, unless it is open, and wait for it. Raises `ServerUnavailable`, and is closed then."""
        if self.is_open:
            return
        if self.state in (ToolsetState.DISCONNECTING, ToolsetState.DISCONNECTED):
            await self.close()  # what was lost may still be ending
        with self._lock:
            begins = self._bridge is None
            bridge = self._bridge = self._bridge or self._start()
        try:
            await asyncio.to_thread(bridge.wait_ready, self._limit)
            self._require_ready(bridge)
        except BaseException:
            if begins:  # also when cancelled: nobody else would end it
                await self._end(bridge)
            raise

    def bridge(self) -> BridgeThread:
        """Return the bridge. Raises `McpSessionNotEstablishedError` with the fix if the server is not open."""
        bridge = self._bridge
        if bridge is None or not self.is_open:
            text = f"not connected to MCP server '{self.name}' (state: {self.state}{self._loss}): {self._fix}"
            raise McpSessionNotEstablishedError(text, server=self.name)
        return bridge

    async def refresh(self) -> None:
        """List the tools anew. Raises `ServerUnavailable` if the server does not give them."""
        bridge = self.bridge()
        await bridge.refresh()
        self._require_ready(bridge)

    def tools(self) -> list[Tool]:
        """Return the tools as last listed. Raises `ServerUnavailable` if the server was given up."""
        bridge = self.bridge()
        status = _status(bridge)
        if status is not None and status.state == "failed":
            raise self._unavailable(status.reason)
        return bridge.tools()

    async def find(self, name: str) -> Tool:
        """Return a tool by the server's own name for it, or its public one, listing anew if it is not known.

        Raises `ValueError` with similar names if there is none, else as `tools` and `refresh`.
        """
        for anew in (False, True):
            if anew:
                await self.refresh()
            tools = self.tools()
            for tool in tools:
                if name in (tool.remote_name, tool.name):
                    return tool
        names = [truncate(clean_label(tool.remote_name), 80) for tool in tools]
        near = difflib.get_close_matches(name, names, _NEAR_NAMES, cutoff=0.3) or names[:_NEAR_NAMES]
        hint = f"near: {', '.join(near)}" if near else "it has none"
        raise ValueError(f"MCP server '{self.name}' has no tool '{name}'; {hint}")

    async def call(self, name: str, arguments: Mapping[str, Any], seconds: float | None = None) -> ToolResult:
        """Call a tool by its public name; `seconds` limits the call further than the configuration.

        Raises what `Bridge.call` raises, and `ServerUnavailable` when it is closed meanwhile.
        """
        future = self.bridge().submit(name, arguments)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        waiting = asyncio.wrap_future(future)
        try:
            # Not `wait_for`: who cancelled it, the caller or `close`, must be told apart.
            await asyncio.wait({waiting}, timeout=seconds)
            if not waiting.done():
                raise CallTimeout(f"no answer within {seconds:g} s (execution_timeout)", server=self.name)
        finally:
            waiting.cancel()
        if waiting.cancelled():
            raise self._unavailable("it was closed while the call was running")
        return waiting.result()

    def lose(self, bridge: BridgeThread, reason: str) -> None:
        """Be closed at once, since the connection is of no use; its bridge ends in the background."""
        with self._lock:
            if self._bridge is bridge and self.is_open:
                self.state, self._loss = ToolsetState.DISCONNECTED, f", after this: {reason}"
        bridge.close_soon()

    async def close(self) -> bool:
        """End the server; tell whether all has ended. Safe to repeat.

        Calls that `call` began are ended at once. Others on the bridge may finish, later than this if need be.
        """
        bridge = self._bridge
        return bridge is None or await self._end(bridge)

    def _start(self) -> BridgeThread:
        config = self._config()
        bridge = BridgeThread(config)
        limit = max((server.start_limit for server in config.servers), default=0.0)
        self._limit = limit + START_MARGIN_SECONDS
        self.state, self._loss = ToolsetState.CONNECTING, ""
        weakref.finalize(self, bridge.close_soon)
        bridge.start()
        return bridge

    async def _end(self, bridge: BridgeThread) -> bool:
        with self._lock:
            if self._bridge is bridge:
                self.state = ToolsetState.DISCONNECTING
                for future in tuple(self._running):
                    future.cancel()
        bridge.close_soon()
        try:
            ended = await asyncio.to_thread(bridge.join, CLOSE_SECONDS)
            if not ended:
                text = "MCP server '%s' did not end within %g s: it does when its calls have"
                logger.warning(text, self.name, CLOSE_SECONDS)
            return ended
        finally:
            with self._lock:
                if self._bridge is bridge:
                    self._bridge, self.state = None, ToolsetState.DISCONNECTED

    def _require_ready(self, bridge: BridgeThread) -> None:
        """Be open if the server is ready; else raise what is the matter."""
        status = _status(bridge)
        ready = status is not None and status.state == "ready"
        with self._lock:
            wanted = self._bridge is bridge and self.state in (ToolsetState.CONNECTING, ToolsetState.CONNECTED)
            if ready and wanted:
                self.state = ToolsetState.CONNECTED
                return
        reason = status.reason if status is not None and not ready else ""
        raise self._unavailable(reason or ("it does not start" if wanted else "it was closed while it was starting"))

    def _unavailable(self, reason: str) -> ServerUnavailable:
        return ServerUnavailable(f"MCP server '{self.name}' is not available: {reason}", server=self.name)


def _status(bridge: BridgeThread) -> ServerStatus | None:
    """Return the state of the one server, None if the bridge has not come so far."""
    return next(iter(bridge.status()), None)
