"""One configured server: its state, its tools, its sessions, and the task that keeps them right."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Literal

from .catalog import Listing, list_tools
from .connection import Connection
from .errors import BridgeError, ServerUnavailable
from .pool import SessionPool, SpareBudget
from .process.environment import plan_launch
from .server_config import ServerConfig
from .session import FreshSessions, KeptSessions, Sessions
from .snapshot import Snapshots
from .transport import Route, Surroundings

logger = logging.getLogger(__name__)

State = Literal["starting", "ready", "retrying", "failed", "disabled"]

FIRST_RETRY_SECONDS = 2.0
MAX_RETRY_SECONDS = 60.0
"""Pause before the next start of a server that failed; doubles from the first to the last."""
MAX_ATTEMPTS = 8
"""Failures in a row after which a server is parked until a refresh or a change of its entry."""
DEBOUNCE_SECONDS = 0.3
"""How long `list_changed` is left to settle: some servers send one for each tool."""


class Server:
    """A server of the configuration. `run` keeps its tool list current until it is cancelled."""

    def __init__(
        self,
        config: ServerConfig,
        around: Surroundings,
        budget: SpareBudget,
        snapshots: Snapshots,
        on_listing: Callable[[], None],
    ) -> None:
        self.config = config
        self.state: State = "starting" if config.enabled else "disabled"
        self.reason = ""
        self.calls = 0
        self.failures = 0
        self.last_error = ""
        self.listing = Listing()
        self.attempted = asyncio.Event()
        """Set once the first start has succeeded or failed."""
        self._around = around
        self._snapshots = snapshots
        self._on_listing = on_listing
        self._again = asyncio.Event()
        self._attempts = 0
        self._lock = asyncio.Lock()
        self._route = Route(config, around)
        self._pool = SessionPool(config, self._connect)
        if config.session == "fresh":
            self.sessions: Sessions = FreshSessions(self._pool, budget)
        else:
            self.sessions = KeptSessions(self._pool, per_chat=config.session == "chat")
        if not config.enabled:
            self.attempted.set()
        elif config.error:
            self._fail(ServerUnavailable(config.error, server=config.name, retry=False))
        else:
            self.listing = snapshots.load(config) or Listing()

    @property
    def offers_tools(self) -> bool:
        """Whether its tools are offered: also stored ones, as long as it may still come up."""
        return self.state in ("starting", "ready", "retrying")

    @property
    def start_seconds(self) -> float:
        """How long start, handshake and tool list may take together."""
        if self.state != "ready" and self.config.transport == "stdio" and self._is_launcher():
            return max(self.config.first_start_timeout, self.config.connect_timeout)
        return self.config.connect_timeout

    def unavailable(self) -> ServerUnavailable:
        """Return the error for a call that this server cannot take now."""
        return ServerUnavailable(
            f"MCP server '{self.config.name}' is not available: {self.reason or self.state}",
            server=self.config.name,
        )

    async def run(self) -> None:
        """Discover the tools, again after failures with growing pauses, and whenever asked to."""
        if not self.config.enabled or self.config.error:
            return
        while True:
            pause = await self.discover()
            try:
                await asyncio.wait_for(self._again.wait(), pause)
                await asyncio.sleep(DEBOUNCE_SECONDS)
            except asyncio.TimeoutError:
                pass
            self._again.clear()

    async def discover(self) -> float | None:
        """List the tools on a new session; return the pause before the next attempt, None for never."""
        async with self._lock:
            try:
                listing = await self._list()
            except BridgeError as error:
                return self._fail(error)
            self._attempts = 0
            changed = self.state != "ready" or listing.tools != self.listing.tools
            self.state, self.reason, self.listing = "ready", "", listing
            if changed:
                self._on_listing()
            self.attempted.set()
            for problem in listing.problems:
                logger.warning("MCP server '%s': %s", self.config.name, problem)
            logger.info("MCP server '%s' is ready with %d tools", self.config.name, len(listing.tools))
            await asyncio.to_thread(self._snapshots.save, self.config, listing)
            return None

    def refresh_soon(self) -> None:
        """Have the tools listed again in the background."""
        self._attempts = 0
        self._again.set()

    async def close(self) -> None:
        await self.sessions.close()

    def _connect(self) -> Connection:
        redact = self._around.redact
        connection = Connection(self.config, self._route, redact)
        connection.on_list_changed = self._list_changed
        return connection

    async def _list(self) -> Listing:
        loop = asyncio.get_running_loop()
        seconds = self.start_seconds
        deadline = loop.time() + seconds
        kept = self.sessions.for_listing()
        if kept is not None:
            return await list_tools(kept, seconds, loop.time)
        connection = await self._pool.open(seconds)
        try:
            listing = await list_tools(connection, deadline - loop.time(), loop.time)
        except BaseException:
            connection.close_soon()
            raise
        self.sessions.renew()  # spares from before may still believe in an older list
        self.sessions.offer(connection)
        return listing

    def _list_changed(self, connection: Connection) -> None:
        logger.debug("MCP server '%s' says that its tools have changed", self.config.name)
        self.refresh_soon()

    def _fail(self, error: BridgeError) -> float | None:
        """Note a failed start; return the pause before the next one."""
        name, reason = self.config.name, self._around.redact(error.message)
        retry = not isinstance(error, ServerUnavailable) or error.retry
        missing = isinstance(error, ServerUnavailable) and error.missing
        self._attempts += 1
        repeated = reason == self.reason
        was_offered = self.offers_tools
        self.reason = self.last_error = reason
        if missing:
            self.state, pause = "failed", MAX_RETRY_SECONDS
        elif retry and self._attempts < MAX_ATTEMPTS:
            self.state = "retrying"
            pause = min(FIRST_RETRY_SECONDS * 2 ** (self._attempts - 1), MAX_RETRY_SECONDS)
        else:
            self.state, pause = "failed", 0.0
        logger.log(logging.DEBUG if repeated else logging.ERROR, "MCP server '%s' failed: %s", name, reason)
        self.attempted.set()
        if was_offered != self.offers_tools and self.listing.tools:
            self._on_listing()
        return pause or None

    def _is_launcher(self) -> bool:
        try:
            return plan_launch(self.config).is_launcher
        except BridgeError:
            return False
