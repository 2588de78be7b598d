"""One configured server: its state, its tools, its sessions, and the task that keeps them current."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Literal

from ..aio import Backoff, wait_for_event
from ..config.server_config import ServerConfig
from ..errors import BridgeError, ServerUnavailable
from ..sessions.fresh import FreshSessions
from ..sessions.kept import KeptSessions
from ..sessions.pool import BUSY_SECONDS, AllBusy, SessionPool
from ..sessions.requests import ToolRequest
from ..sessions.session import Session
from ..sessions.spares import SpareBudget
from ..sessions.strategy import Sessions
from ..store.approvals import Approvals, Change
from ..store.catalogue import StoredCatalogues
from ..tools.tool import Listing
from ..transport.route import Route, SharedResources
from .discovery import Discovery

logger = logging.getLogger(__name__)

State = Literal["starting", "ready", "retrying", "failed", "disabled"]

FIRST_RETRY_SECONDS = 1.0
MAX_RETRY_SECONDS = 60.0
"""Pause before the next start of a server that failed; doubles from the first to the last."""
MAX_ATTEMPTS = 8
"""Failures in a row after which a server is parked: its tools are not offered any more."""
PARKED_SECONDS = 600.0
"""How long a parked server waits for its next start."""
SETTLE_SECONDS = 0.3
MAX_SETTLE_SECONDS = 60.0
"""How long `list_changed` is left to settle; doubles while listing again shows no change."""


class Server:
    """A server of the configuration. `run` keeps its tools current until it is cancelled."""

    def __init__(
        self,
        config: ServerConfig,
        shared: SharedResources,
        budget: SpareBudget,
        catalogues: StoredCatalogues,
        approvals: Approvals,
        on_listing: Callable[[], None],
    ) -> None:
        self.config = config
        self.state: State = "starting" if config.enabled else "disabled"
        self.reason = ""
        self.last_error = ""
        self.listing = Listing()
        self.attempted = asyncio.Event()
        """Set once the first start has succeeded or failed."""
        self.quiet = asyncio.Event()
        """Set while no call is running."""
        self.quiet.set()
        self._running = 0
        self._shared = shared
        self._on_listing = on_listing
        self._again = asyncio.Event()
        self._retries = Backoff(FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS)
        self._storm = Backoff(SETTLE_SECONDS, MAX_SETTLE_SECONDS)
        self._lock = asyncio.Lock()
        self._route = Route(config, shared)
        pool = SessionPool(config, self._open_session)
        if config.session == "fresh":
            self.sessions: Sessions = FreshSessions(pool, budget)
        else:
            self.sessions = KeptSessions(pool, per_chat=config.session == "chat")
        self._discovery = Discovery(config, shared, pool, self.sessions, catalogues, approvals)
        if not config.enabled:
            self.attempted.set()
        elif config.error:
            self._fail(ServerUnavailable(config.error, server=config.name, retry=False))
        else:
            self.listing = self._discovery.stored()

    @property
    def is_ready(self) -> bool:
        """Whether its tools have been listed, and it has not failed since."""
        return self.state == "ready"

    @property
    def offers_tools(self) -> bool:
        """Whether its tools are offered: also stored ones, while it may still become ready."""
        return self.state in ("starting", "ready", "retrying")

    @property
    def start_limit(self) -> float:
        """How many seconds its start, `initialize` and `tools/list` may take together."""
        return self._discovery.limit

    @property
    def note(self) -> str:
        """What the owner should know of a server that is ready: tools that are withheld."""
        return self._discovery.note

    def unavailable(self) -> ServerUnavailable:
        """Return the error for a call that this server cannot take now."""
        return ServerUnavailable(
            f"MCP server '{self.config.name}' is not available: {self.reason or self.state}",
            server=self.config.name,
        )

    async def run(self) -> None:
        """Discover the tools, again after failures with growing pauses, and whenever that is requested."""
        if not self.config.enabled or self.config.error:
            return
        while True:
            pause = await self.discover()
            if await wait_for_event(self._again, pause):
                await asyncio.sleep(self._storm.pause or SETTLE_SECONDS)
            self._again.clear()

    async def discover(self) -> float | None:
        """List the tools; return the seconds until the next attempt, None for never."""
        async with self._lock:
            try:
                listing = await self._discovery.list_tools(self._waiting)
            except AllBusy as error:  # nothing is wrong with the server: its known tools stay
                logger.debug("MCP server '%s' cannot be listed now: %s", self.config.name, error.message)
                self.attempted.set()
                return self._retries.pause or BUSY_SECONDS
            except BridgeError as error:
                return self._fail(error)
            except Exception as error:  # a fault of ours must cost this server alone
                logger.exception("listing the tools of MCP server '%s' failed", self.config.name)
                return self._fail(ServerUnavailable(f"internal error: {error!r}", server=self.config.name))
            self._offer(await self._discovery.store(listing))
            return None

    async def refresh(self) -> None:
        """List the tools now, whatever `run` is waiting for; it tries again if that fails."""
        if await self.discover() is not None:
            self.refresh_soon()

    async def accept(self) -> list[Change]:
        """Accept the tools as they are now; return what that changes. Raises `BridgeError`."""
        if self.config.error or not self.config.enabled:
            raise self.unavailable()
        async with self._lock:
            listing = await self._discovery.list_tools(self._waiting)
            changes = await self._discovery.accept(listing)
            self._offer(listing)
            return changes

    def refresh_soon(self) -> None:
        """Have the tools listed again in the background."""
        self._again.set()

    async def close(self) -> None:
        await self.sessions.close()

    @asynccontextmanager
    async def lease(self, call: ToolRequest, chat: str | None) -> AsyncIterator[Session]:
        """Lend a session for a call; if none can be had, discovery finds out the reason in the background.

        Raises `ServerUnavailable`.
        """
        self._running += 1
        self.quiet.clear()
        leased = False
        try:
            async with self.sessions.lease(call, chat, self.config.connect_timeout) as session:
                leased = True
                yield session
        except ServerUnavailable as error:
            if not leased and self.state == "ready" and not isinstance(error, AllBusy):
                self.refresh_soon()
            raise
        finally:
            self._running -= 1
            if not self._running:
                self.quiet.set()

    def _open_session(self) -> Session:
        return Session(self.config, self._route, self._shared.redact, self._list_changed)

    def _waiting(self, reason: str) -> None:
        """Show what a start is waiting for, unless the reason of an earlier failure says more."""
        if self.state == "starting" or not self.reason:
            self.reason = reason

    def _offer(self, listing: Listing) -> None:
        """Offer the tools of a listing."""
        same = listing.tools == self.listing.tools
        came_up = self.state != "ready"
        if same and not came_up:
            self._storm.lengthen()
        else:
            self._storm.reset()
        self._retries.reset()
        self.state, self.reason, self.listing = "ready", self.note, listing
        if came_up or not same:
            self._on_listing()
            for problem in listing.problems:
                logger.warning("MCP server '%s': %s", self.config.name, problem)
            logger.info("MCP server '%s' is ready with %d tools", self.config.name, len(listing.tools))
        self.attempted.set()

    def _list_changed(self) -> None:
        logger.debug("MCP server '%s' has notified a change of its tools", self.config.name)
        self.refresh_soon()

    def _fail(self, error: BridgeError) -> float | None:
        """Note a failed start; return the seconds until the next one, None for never."""
        name, reason = self.config.name, self._shared.redact(error.message)
        was_offered = self.offers_tools
        level = logging.DEBUG if reason == self.last_error else logging.ERROR
        logger.log(level, "MCP server '%s' failed: %s", name, reason)
        self.reason = self.last_error = reason
        pause: float | None = self._retries.lengthen()
        if isinstance(error, ServerUnavailable) and not error.retry:
            self.state, pause = "failed", None
        elif isinstance(error, ServerUnavailable) and error.missing:
            self.state, pause = "failed", MAX_RETRY_SECONDS
        elif self._retries.count < MAX_ATTEMPTS:
            self.state = "retrying"
        else:
            self.state, pause = "failed", PARKED_SECONDS
            self.reason = f"parked after {self._retries.count} failed starts: {reason}"
        self.attempted.set()
        if was_offered != self.offers_tools and self.listing.tools:
            self._on_listing()
        return pause
