"""The discovery of a server's tools: list them, store them, and report to the owner what has changed."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable

from ..aio import run_in_thread
from ..config.rules import unmatched_rules
from ..config.server_config import ServerConfig
from ..errors import SessionExpired, SessionRefused
from ..sessions.listing import list_tools
from ..sessions.pool import SessionPool
from ..sessions.strategy import Sessions
from ..store.approvals import Approvals, Change
from ..store.catalogue import StoredCatalogues
from ..text.cleaning import clean_label, truncate
from ..tools.tool import Listing, masked
from ..transport.route import SharedResources

logger = logging.getLogger(__name__)

_NAMES_CHARS = 300


class Discovery:
    """Lists the tools of one server.

    `note` tells the owner of tools that are withheld, "" if none are. `first_start` is true until a server whose
    launcher may have to download it has been listed once.
    """

    def __init__(
        self,
        config: ServerConfig,
        shared: SharedResources,
        pool: SessionPool,
        sessions: Sessions,
        catalogues: StoredCatalogues,
        approvals: Approvals,
    ) -> None:
        self.note = ""
        self.first_start = config.enabled and not config.error and config.uses_launcher
        self._config = config
        self._shared = shared
        self._pool = pool
        self._sessions = sessions
        self._catalogues = catalogues
        self._approvals = approvals
        self._reported: list[Change] = []
        self._unmatched_rules: list[str] = []

    @property
    def limit(self) -> float:
        """How many seconds the start of the server, `initialize` and `tools/list` may take together."""
        return self._config.start_limit if self.first_start else self._config.connect_timeout

    def stored(self) -> Listing:
        """Return the tools that earlier discovery has stored, as far as they may be offered."""
        stored = self._catalogues.load(self._config)
        return self._approvals.review(self._config, stored)[0] if stored else Listing()

    async def list_tools(self, waiting: Callable[[str], None]) -> Listing:
        """List the tools, with secrets masked. `waiting` is called with what takes long. Raises `BridgeError`."""
        return masked(await self._list(waiting), self._shared.redact)

    async def store(self, listing: Listing) -> Listing:
        """Store a listing for the next start; return the part of it that may be offered."""
        offered, changes = await run_in_thread(self._store, listing)
        self._report(changes)
        self._check_rules(listing)
        self.first_start = False
        return offered

    async def accept(self, listing: Listing) -> list[Change]:
        """Accept the tools of a listing as they are; return what that changes."""
        changes = await run_in_thread(self._approvals.accept, self._config, listing)
        self._report([])
        self._check_rules(listing)
        self.first_start = False
        return changes

    async def _list(self, waiting: Callable[[str], None]) -> Listing:
        with self._sessions.for_listing() as kept:
            if kept is not None:
                try:
                    return await list_tools(kept, self._config.connect_timeout, asyncio.get_running_loop().time)
                except (SessionExpired, SessionRefused) as error:  # listed on a new session instead
                    logger.debug("MCP server '%s' has forgotten a session: %s", self._config.name, error.message)
        if not self.first_start:
            return await self._list_on_new_session()
        # Several first downloads by one launcher at once get in each other's way.
        lock = self._shared.first_starts[os.path.basename(self._config.command)]
        if lock.locked():
            waiting(f"waiting for the first start of another server by {self._config.command}")
        async with lock:
            waiting(f"first start: {self._config.command} may be downloading the server")
            return await self._list_on_new_session()

    async def _list_on_new_session(self) -> Listing:
        """List the tools on a new session, which then becomes the first spare."""
        clock, seconds = asyncio.get_running_loop().time, self.limit
        deadline = clock() + seconds
        if not self._pool.has_room():
            self._sessions.renew()  # with few sessions allowed, spares give way
        session = await self._pool.open(seconds)
        try:
            listing = await list_tools(session, deadline - clock(), clock, limit=seconds)
        except BaseException:
            session.close_soon()
            raise
        self._sessions.renew()  # spares from before may still have an older list
        self._sessions.offer(session)
        return listing

    def _store(self, listing: Listing) -> tuple[Listing, list[Change]]:
        self._catalogues.save(self._config, listing)
        return self._approvals.review(self._config, listing)

    def _report(self, changes: list[Change]) -> None:
        """Warn the owner of tools that have changed since they were accepted, and of those that are withheld."""
        for change in changes if changes != self._reported else ():
            tool = truncate(clean_label(change.tool), 80)
            text = f"tool '{tool}' of MCP server '{self._config.name}' has changed"
            if self._config.pin:
                text += f" and is withheld until you run: mcp-bridge accept {self._config.name}"
            logger.warning("%s (%s)", text, self._shared.redact(change.difference))
        self._reported = changes
        self.note = ""
        if self._config.pin and changes:
            self.note = f"{len(changes)} tools withheld, see: mcp-bridge accept {self._config.name}"

    def _check_rules(self, listing: Listing) -> None:
        """Warn the owner of rules that match no tool: a dangerous one may be unguarded."""
        unmatched = unmatched_rules(self._config, listing.tools)
        if unmatched and listing.tools and unmatched != self._unmatched_rules:
            names = truncate(", ".join(clean_label(tool.remote_name) for tool in listing.tools), _NAMES_CHARS)
            text = f"none of its tools has that name: {', '.join(unmatched)}; it has {names}"
            logger.warning("MCP server '%s': %s", self._config.name, text)
        self._unmatched_rules = unmatched
