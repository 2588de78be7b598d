"""One configured server: its state, its tools, its sessions, and the task that keeps them right."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Literal

from ..aio import Backoff, run_in_thread, wait_for_event
from ..config.rules import unmatched_rules
from ..config.server_config import ServerConfig
from ..errors import BridgeError, ServerUnavailable, SessionExpired, SessionRefused
from ..sessions.fresh import FreshSessions
from ..sessions.in_flight import ToolCall
from ..sessions.kept import KeptSessions
from ..sessions.listing import list_tools
from ..sessions.pool import BUSY_SECONDS, AllBusy, SessionPool, SpareBudget
from ..sessions.session import Connection
from ..sessions.strategy import Sessions
from ..store.approvals import Approvals, Change
from ..store.catalogue import StoredCatalogues
from ..text.cleaning import clean_label, truncate
from ..tools.tool import Listing, masked
from ..transport.route import Route, SharedResources

logger = logging.getLogger(__name__)

State = Literal["starting", "ready", "retrying", "failed", "disabled"]

FIRST_RETRY_SECONDS = 1.0
MAX_RETRY_SECONDS = 60.0
"""Pause before the next start of a server that failed; doubles from the first to the last."""
MAX_ATTEMPTS = 8
"""Failures in a row after which a server is parked: its tools are no longer offered."""
PARKED_SECONDS = 600.0
"""How often a parked server is looked at again."""
SETTLE_SECONDS = 0.3
MAX_SETTLE_SECONDS = 60.0
"""How long `list_changed` is left to settle; doubles while listing again shows no change."""
_NAMES_CHARS = 300


class Server:
    """A server of the configuration. `run` keeps its tool list current until it is cancelled."""

    def __init__(
        self,
        config: ServerConfig,
        around: SharedResources,
        budget: SpareBudget,
        snapshots: StoredCatalogues,
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
        self._around = around
        self._snapshots = snapshots
        self._approvals = approvals
        self._on_listing = on_listing
        self.note = ""
        self._reported: list[Change] = []
        self._idle_rules: list[str] = []
        self._again = asyncio.Event()
        self._retries = Backoff(FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS)
        self._storm = Backoff(SETTLE_SECONDS, MAX_SETTLE_SECONDS)
        self._lock = asyncio.Lock()
        self._first_start = config.enabled and not config.error and config.uses_launcher
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
            stored = snapshots.load(config)
            self.listing = approvals.review(config, stored)[0] if stored else Listing()

    @property
    def offers_tools(self) -> bool:
        """Whether its tools are offered: also stored ones, as long as it may still come up."""
        return self.state in ("starting", "ready", "retrying")

    @property
    def start_seconds(self) -> float:
        """How long start, handshake and tool list may take together."""
        return self.config.start_limit if self._first_start else self.config.connect_timeout

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
            if await wait_for_event(self._again, pause):
                await asyncio.sleep(self._storm.pause or SETTLE_SECONDS)
            self._again.clear()

    async def discover(self) -> float | None:
        """List the tools; return the pause before the next attempt, None for never."""
        async with self._lock:
            try:
                listing = await self._list()
            except AllBusy as error:  # the server is well: what is known of it stays
                logger.debug("MCP server '%s' cannot be listed now: %s", self.config.name, error.message)
                self.attempted.set()
                return self._retries.pause or BUSY_SECONDS
            except BridgeError as error:
                return self._fail(error)
            except Exception as error:  # a fault of ours must cost this server alone
                logger.exception("listing the tools of MCP server '%s' failed", self.config.name)
                return self._fail(ServerUnavailable(f"internal error: {error!r}", server=self.config.name))
            offered, changes = await run_in_thread(self._store, masked(listing, self._around.redact))
            self._report(changes)
            self._check_rules(listing)
            self._accept(offered)
            return None

    async def refresh(self) -> None:
        """List the tools now, whatever `run` is waiting for; it goes on where that fails."""
        if await self.discover() is not None:
            self.refresh_soon()

    async def accept(self) -> list[Change]:
        """Accept the tools as they are now; return what that changes. Raises `BridgeError`."""
        if self.config.error or not self.config.enabled:
            raise self.unavailable()
        async with self._lock:
            listing = masked(await self._list(), self._around.redact)
            changes = await run_in_thread(self._approvals.accept, self.config, listing)
            self._report([])
            self._check_rules(listing)
            self._accept(listing)
            return changes

    def refresh_soon(self) -> None:
        """Have the tools listed again in the background."""
        self._again.set()

    async def close(self) -> None:
        await self.sessions.close()

    @asynccontextmanager
    async def lease(self, call: ToolCall, chat: str | None) -> AsyncIterator[Connection]:
        """Lend a session for a call; if there is none to be had, find out in the background why.

        Raises `ServerUnavailable`.
        """
        self._running += 1
        self.quiet.clear()
        leased = False
        try:
            async with self.sessions.lease(call, chat, self.config.connect_timeout) as connection:
                leased = True
                yield connection
        except ServerUnavailable as error:
            if not leased and self.state == "ready" and not isinstance(error, AllBusy):
                self.refresh_soon()
            raise
        finally:
            self._running -= 1
            if not self._running:
                self.quiet.set()

    def _connect(self) -> Connection:
        redact = self._around.redact
        connection = Connection(self.config, self._route, redact)
        connection.on_list_changed = self._list_changed
        return connection

    async def _list(self) -> Listing:
        with self.sessions.for_listing() as kept:
            if kept is not None:
                try:
                    return await list_tools(kept, self.config.connect_timeout, asyncio.get_running_loop().time)
                except (SessionExpired, SessionRefused) as error:  # a new one is asked instead
                    logger.debug("MCP server '%s' has forgotten a session: %s", self.config.name, error.message)
        if not self._first_start:
            return await self._list_anew(self.config.connect_timeout)
        # Several first downloads by one launcher at once get in each other's way.
        lock = self._around.first_starts[os.path.basename(self.config.command)]
        known = "" if self.state == "starting" else self.reason  # why it failed says more
        if lock.locked():
            self.reason = known or f"waiting for the first start of another server by {self.config.command}"
        async with lock:
            self.reason = known or f"first start: {self.config.command} may be downloading the server"
            return await self._list_anew(self.start_seconds)

    async def _list_anew(self, seconds: float) -> Listing:
        """List the tools on a new session, which then becomes the first spare."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + seconds
        if not self._pool.has_room():
            self.sessions.renew()  # with few sessions allowed, spares give way
        connection = await self._pool.open(seconds)
        try:
            listing = await list_tools(connection, deadline - clock(), clock, limit=seconds)
        except BaseException:
            connection.close_soon()
            raise
        self.sessions.renew()  # spares from before may still believe in an older list
        self.sessions.offer(connection)
        return listing

    def _store(self, listing: Listing) -> tuple[Listing, list[Change]]:
        """Keep a listing for the next start; return what of it may be offered, and what has changed."""
        self._snapshots.save(self.config, listing)
        return self._approvals.review(self.config, listing)

    def _accept(self, listing: Listing) -> None:
        """Take in a listing that has been read."""
        same = listing.tools == self.listing.tools
        came_up = self.state != "ready"
        if same and not came_up:
            self._storm.lengthen()
        else:
            self._storm.reset()
        self._retries.reset()
        self._first_start = False
        self.state, self.reason, self.listing = "ready", self.note, listing
        if came_up or not same:
            self._on_listing()
            for problem in listing.problems:
                logger.warning("MCP server '%s': %s", self.config.name, problem)
            logger.info("MCP server '%s' is ready with %d tools", self.config.name, len(listing.tools))
        self.attempted.set()

    def _report(self, changes: list[Change]) -> None:
        """Tell the owner which tools are not as they were seen before, and what became of them."""
        for change in changes if changes != self._reported else ():
            tool = truncate(clean_label(change.tool), 80)
            what = f"tool '{tool}' of MCP server '{self.config.name}' has changed"
            if self.config.pin:
                what += f" and is withheld until you run: mcp-bridge accept {self.config.name}"
            logger.warning("%s (%s)", what, self._around.redact(change.difference))
        self._reported = changes
        self.note = f"{len(changes)} tools withheld, see: mcp-bridge accept {self.config.name}" * (
            self.config.pin and bool(changes)
        )

    def _check_rules(self, listing: Listing) -> None:
        """Tell the owner of rules that name no tool: a dangerous one may go unguarded."""
        idle = unmatched_rules(self.config, listing.tools)
        if idle and listing.tools and idle != self._idle_rules:
            names = truncate(", ".join(clean_label(tool.remote_name) for tool in listing.tools), _NAMES_CHARS)
            text = f"none of its tools has that name: {', '.join(idle)}; it has {names}"
            logger.warning("MCP server '%s': %s", self.config.name, text)
        self._idle_rules = idle

    def _list_changed(self, connection: Connection) -> None:
        logger.debug("MCP server '%s' says that its tools have changed", self.config.name)
        self.refresh_soon()

    def _fail(self, error: BridgeError) -> float | None:
        """Note a failed start; return the pause before the next one."""
        name, reason = self.config.name, self._around.redact(error.message)
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
