"""One server behind a bridge on its own thread, opened and closed in any order.

Nothing of it lives in the caller's loop: any task, loop or thread may use it.
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
"""Added to the server's own limits while waiting, so that the server's own error arrives first."""
CLOSE_SECONDS = 20.0
"""How long `close` waits for the server to stop; its sessions need 8 s at most."""
_NEAR_NAMES = 5


class ToolsetState(str, Enum):
    """The state of a toolset, or of any single server; equal to its name in lower case."""

    CREATED = "created"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    DISCONNECTING = "disconnecting"
    DISCONNECTED = "disconnected"
    __str__ = str.__str__


class SingleServer:
    """Owns the `BridgeThread` of a server from `open` to `close`; may be opened again.

    Closes the server when this object is garbage-collected.
    """

    def __init__(self, name: str, config: Callable[[], BridgeConfig], fix: str = "connect it first") -> None:
        """`config` returns the server's configuration at each start; errors of a closed server end with `fix`."""
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
        """Start the server and wait until it is ready. Raises `ServerUnavailable`, and is closed then."""
        if self.is_open:
            return
        if self.state in (ToolsetState.DISCONNECTING, ToolsetState.DISCONNECTED):
            await self.close()  # a lost connection may still be closing
        with self._lock:
            begins = self._bridge is None
            bridge = self._bridge = self._bridge or self._start()
        try:
            await asyncio.to_thread(bridge.wait_ready, self._limit)
            self._require_ready(bridge)
        except BaseException:
            if begins:  # also when cancelled: no other task would end it
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
        """List the tools again. Raises `ServerUnavailable` if that fails."""
        bridge = self.bridge()
        await bridge.refresh()
        self._require_ready(bridge)

    def tools(self) -> list[Tool]:
        """Return the tools as last listed. Raises `ServerUnavailable` if the server has failed."""
        bridge = self.bridge()
        status = _status(bridge)
        if status is not None and status.state == "failed":
            raise self._unavailable(status.reason)
        return bridge.tools()

    async def find(self, name: str) -> Tool:
        """Return a tool by the server's own name or the public one; lists the tools again before giving up.

        Raises `ValueError` with similar names for an unknown tool, else what `tools` and `refresh` raise.
        """
        for again in (False, True):
            if again:
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

        Raises what `Bridge.call` raises, and `ServerUnavailable` if the server is closed meanwhile.
        """
        future = self.bridge().submit(name, arguments)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        waiting = asyncio.wrap_future(future)
        try:
            # Not `wait_for`: a cancellation by the caller and one by `close` must be distinguishable.
            await asyncio.wait({waiting}, timeout=seconds)
            if not waiting.done():
                raise CallTimeout(f"no answer within {seconds:g} s (execution_timeout)", server=self.name)
        finally:
            waiting.cancel()
        if waiting.cancelled():
            raise self._unavailable("it was closed while the call was running")
        return waiting.result()

    def lose(self, bridge: BridgeThread, reason: str) -> None:
        """Become disconnected at once because the connection is lost; the bridge closes in the background."""
        with self._lock:
            if self._bridge is bridge and self.is_open:
                self.state, self._loss = ToolsetState.DISCONNECTED, f", after this: {reason}"
        bridge.close_soon()

    async def close(self) -> bool:
        """Stop the server; return whether it has stopped in time. Safe to repeat.

        Calls made through `call` are cancelled. Other calls on the bridge may finish, even after this returns.
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
            stopped = await asyncio.to_thread(bridge.join, CLOSE_SECONDS)
            if not stopped:
                text = "MCP server '%s' has not stopped after %g s; it stops when its running calls finish"
                logger.warning(text, self.name, CLOSE_SECONDS)
            return stopped
        finally:
            with self._lock:
                if self._bridge is bridge:
                    self._bridge, self.state = None, ToolsetState.DISCONNECTED

    def _require_ready(self, bridge: BridgeThread) -> None:
        """Become connected if the server is ready; else raise `ServerUnavailable` with its reason."""
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
    """Return the state of the one server, None while the bridge is still starting."""
    return next(iter(bridge.status()), None)
