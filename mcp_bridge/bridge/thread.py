"""A bridge on its own event loop, on its own thread.

For hosts that are synchronous, that reload, or whose loop another plugin may block. The loop is created
explicitly: an event loop policy set by another plugin could give one that cannot start processes.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ..calls.call_stats import CallStats
from ..calls.stages import Confirm
from ..config.bridge_config import BridgeConfig
from ..errors import ServerUnavailable
from ..tools.result import ToolResult
from ..tools.tool import Tool
from .bridge import Bridge, ServerStatus

_Given = TypeVar("_Given")
logger = logging.getLogger(__name__)

START_SECONDS = 10.0
"""How long the thread may take until it accepts calls; it does not wait for servers."""
DRAIN_SECONDS = 600.0
"""How long running calls may go on after `close_soon`: their own limits end them earlier."""


class BridgeThread:
    """Owns a `Bridge` and the thread it lives on. Its methods may be called from any thread."""

    def __init__(
        self,
        config: BridgeConfig,
        *,
        data_dir: str | Path | None = None,
        on_change: Callable[[], None] | None = None,
        confirm: Confirm | None = None,
    ) -> None:
        self._bridge = Bridge(config, data_dir=data_dir, on_change=on_change, wait=False, confirm=confirm)
        self._started = threading.Event()
        self._known = threading.Event()
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing: asyncio.Event | None = None
        self._closed = False
        self._grace = 0.0
        self._calls: set[asyncio.Task[ToolResult]] = set()
        # A daemon: a host that exits must not wait. The guardian then ends the servers.
        self._thread = threading.Thread(target=self._run, name="mcp-bridge", daemon=True)

    def start(self) -> None:
        """Start the thread and the servers; returns at once."""
        self._thread.start()

    def wait_started(self, seconds: float) -> bool:
        """Wait until the stored tools are known: milliseconds after `start`."""
        return self._started.wait(seconds)

    def wait_known(self, seconds: float) -> bool:
        """Wait until each server's tools are known, stored or listed, or its start has failed."""
        return self._known.wait(seconds)

    def wait_ready(self, seconds: float) -> bool:
        """Wait until each server is ready or has failed."""
        return self._ready.wait(seconds)

    def tools(self, chat: str | None = None, user: str | None = None) -> list[Tool]:
        """Return what `Bridge.tools` returns; empty until the thread has started."""
        return self._bridge.tools(chat, user) if self._started.is_set() else []

    def status(self) -> list[ServerStatus]:
        """Return what `Bridge.status` returns; empty until the thread has started."""
        return self._bridge.status() if self._started.is_set() else []

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        chat: str | None = None,
        user: str | None = None,
    ) -> ToolResult:
        """Call a tool from any running loop; raises what `Bridge.call` raises."""
        return await asyncio.wrap_future(self.submit(name, arguments, chat=chat, user=user))

    def submit(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        chat: str | None = None,
        user: str | None = None,
    ) -> concurrent.futures.Future[ToolResult]:
        """Begin a call and return its future, for callers without a loop."""
        return self._begin(lambda: self._call(name, arguments, chat, user))

    async def refresh(self) -> None:
        """List all tools anew, as `Bridge.refresh` does; from any running loop."""
        await asyncio.wrap_future(self._begin(self._bridge.refresh))

    async def reconfigure(self, config: BridgeConfig) -> None:
        """Take in an edited configuration, as `Bridge.reconfigure` does; from any running loop.

        Returns when the tools of new servers are known, or their start has failed.
        """
        await asyncio.wrap_future(self._begin(lambda: self._reconfigure(config)))

    @property
    def call_stats(self) -> CallStats:
        """Statistics of the calls; may be read from any thread."""
        return self._bridge.call_stats

    def close_soon(self, grace_seconds: float = 0.0) -> None:
        """Accept no more calls, let running ones finish, then end everything; returns at once.

        Calls that begin within `grace_seconds` are still accepted.
        """
        self._grace = grace_seconds
        self._closed = not grace_seconds
        loop, closing = self._loop, self._closing
        if loop is not None and closing is not None:
            try:
                loop.call_soon_threadsafe(closing.set)
            except RuntimeError:
                logger.debug("the bridge thread has ended already")

    def join(self, seconds: float) -> bool:
        """Wait for the end after `close_soon`; return whether it has come. Blocks: not for use on an event loop."""
        if self._thread.is_alive():
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _begin(self, make: Callable[[], Coroutine[Any, Any, _Given]]) -> concurrent.futures.Future[_Given]:
        if self._thread.is_alive():
            self._started.wait(START_SECONDS)  # takes time only for a call right after `start`
        loop = self._loop
        if not self._started.is_set() or loop is None or self._closed:
            raise ServerUnavailable("the bridge is shut down" if self._closed else "the bridge is not running")
        return asyncio.run_coroutine_threadsafe(make(), loop)

    async def _call(
        self, name: str, arguments: Mapping[str, Any] | str | None, chat: str | None, user: str | None
    ) -> ToolResult:
        task = asyncio.current_task()
        if task is not None:
            self._calls.add(task)
            task.add_done_callback(self._calls.discard)
        return await self._bridge.call(name, arguments, chat=chat, user=user)

    async def _reconfigure(self, config: BridgeConfig) -> None:
        self._bridge.reconfigure(config)
        await self._bridge.known()

    def _run(self) -> None:
        loop = _new_loop()
        try:
            self._loop = loop
            loop.run_until_complete(self._live())
            loop.run_until_complete(loop.shutdown_asyncgens())
            with contextlib.suppress(RuntimeError):  # the system has no thread for it; closing the loop is enough
                loop.run_until_complete(loop.shutdown_default_executor())
        except Exception:  # there is no caller to raise it to
            logger.exception("the bridge thread failed")
        finally:
            self._closed = True
            self._started.set()
            self._known.set()
            self._ready.set()
            loop.close()

    async def _live(self) -> None:
        closing = self._closing = asyncio.Event()
        if self._closed:
            return
        async with self._bridge as bridge:
            self._started.set()
            known = asyncio.create_task(self._announce(bridge), name="mcp tools known")
            try:
                await closing.wait()
                await asyncio.sleep(self._grace)
                self._closed = True
                if self._calls:
                    await asyncio.wait(set(self._calls), timeout=DRAIN_SECONDS)
            finally:
                known.cancel()

    async def _announce(self, bridge: Bridge) -> None:
        await bridge.known()
        self._known.set()
        await bridge.attempted()
        self._ready.set()


def _new_loop() -> asyncio.AbstractEventLoop:
    """Return a loop that can start processes, whatever event loop policy is set."""
    if sys.platform == "win32":
        return asyncio.ProactorEventLoop()
    return asyncio.SelectorEventLoop()
