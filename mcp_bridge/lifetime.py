"""A bridge that somebody connects and disconnects: its states, and what may be done in which."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from enum import Enum

from .config import BridgeConfig
from .errors import McpSessionNotEstablishedError, ServerUnavailable
from .thread import BridgeThread

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 330.0
"""How long `connect` waits at the most; a server's own limits (300 s with a download) end it earlier."""
CLOSE_SECONDS = 10.0
"""How long `disconnect` waits; calls that run longer, and then their server, end in the background."""


class ToolsetState(str, Enum):
    """Where a toolset is in its life; equal to its name in lower case."""

    CREATED = "created"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    DISCONNECTING = "disconnecting"
    DISCONNECTED = "disconnected"
    __str__ = str.__str__


class Lifetime:
    """Owns the `BridgeThread` of one server from `connect` to `disconnect`, as often as that happens.

    To be used from any thread and any loop; several may connect and disconnect at a time.
    """

    def __init__(self, server: str, config: Callable[[], BridgeConfig]) -> None:
        self.state = ToolsetState.CREATED
        self._server = server
        self._config = config
        self._thread: BridgeThread | None = None
        self._lock = threading.Lock()  # for state and thread together
        self._loss = ""

    def thread(self) -> BridgeThread:
        """Return the bridge. Raises `McpSessionNotEstablishedError` with the fix if it is not connected."""
        thread = self._thread
        if thread is None or self.state is not ToolsetState.CONNECTED:
            raise McpSessionNotEstablishedError(
                f"not connected to MCP server '{self._server}' (state: {self.state}{self._loss}): "
                "call 'await toolset.connect()' first, or use 'async with toolset:'",
                server=self._server,
            )
        return thread

    async def connect(self) -> None:
        """Start the server and wait for its tools; does nothing if that is done.

        Raises `ServerUnavailable` with the server's reason, and is disconnected then.
        """
        if self.state in (ToolsetState.DISCONNECTING, ToolsetState.DISCONNECTED):
            await self.disconnect()  # what was lost may still be ending
        with self._lock:
            begins = self._thread is None
            thread = self._thread = self._thread or BridgeThread(self._config())
            if begins:
                self.state, self._loss = ToolsetState.CONNECTING, ""
                thread.start()
        try:
            await asyncio.to_thread(thread.wait_ready, CONNECT_SECONDS)
            self._require_ready(thread)
        except BaseException:
            if begins:  # also when cancelled: nobody else would end it
                await self._end(thread)
            raise

    async def disconnect(self) -> None:
        """Let running calls finish and end the server; does nothing if that is done."""
        thread = self._thread
        if thread is not None:
            await self._end(thread)

    async def refresh(self) -> None:
        """List the tools anew. Raises `ServerUnavailable` if the server does not give them."""
        thread = self.thread()
        await thread.refresh()
        self._require_ready(thread)

    def lose(self, thread: BridgeThread, reason: str) -> None:
        """Be disconnected at once, since the connection is of no use; its thread ends in the background."""
        with self._lock:
            if self._thread is thread and self.state is ToolsetState.CONNECTED:
                self.state, self._loss = ToolsetState.DISCONNECTED, f", after this: {reason}"
        thread.close_soon()

    async def _end(self, thread: BridgeThread) -> None:
        with self._lock:
            if self._thread is thread:
                self.state = ToolsetState.DISCONNECTING
        thread.close_soon()
        try:
            if not await asyncio.to_thread(thread.join, CLOSE_SECONDS):
                logger.info("calls of MCP server '%s' are still running: it ends after them", self._server)
        finally:
            with self._lock:
                if self._thread is thread:
                    self._thread, self.state = None, ToolsetState.DISCONNECTED

    def _require_ready(self, thread: BridgeThread) -> None:
        """Be connected if the server is ready; else raise what is the matter."""
        status = next(iter(thread.status()), None)
        ready = status is not None and status.state == "ready"
        with self._lock:
            wanted = self._thread is thread and self.state in (ToolsetState.CONNECTING, ToolsetState.CONNECTED)
            if ready and wanted:
                self.state = ToolsetState.CONNECTED
                return
        if ready or status is None or not (status.reason or wanted):
            text = f"MCP server '{self._server}' was disconnected before it was connected"
            raise McpSessionNotEstablishedError(text, server=self._server)
        text = f"MCP server '{self._server}' is not available: {status.reason or status.state}"
        raise ServerUnavailable(text, server=self._server)
