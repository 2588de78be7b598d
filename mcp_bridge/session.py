"""Leases: which session a call gets.

A strategy is a value with one method, `async with sessions.lease(chat, seconds) as connection`.
`FreshSessions` gives each call a session that no call has used before and none will use
again; started and initialised spares make that as quick as a session kept for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from .connection import Connection
from .errors import BridgeError, ServerUnavailable
from .server_config import ServerConfig

logger = logging.getLogger(__name__)

CLOSE_SECONDS = 8.0
"""How long all sessions of a server may take to end; each takes 5 s at the most."""
SPARE_RETRY_SECONDS = 1.0
MAX_SPARE_RETRY_SECONDS = 300.0
"""Pause before a spare that would not start, or died young, is replaced; doubles each time."""


class SpareBudget:
    """How many spares all servers of a bridge may keep together; a newer one ousts the oldest."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._spares: deque[Connection] = deque()

    def add(self, spare: Connection, *, oust: bool) -> bool:
        """Count a spare; tell whether there is room for it, made by ending an older one if allowed."""
        if len(self._spares) >= self._limit:
            if not oust or not self._limit:
                return False
            self._spares.popleft().close_soon()
        self._spares.append(spare)
        return True

    def remove(self, spare: Connection) -> None:
        with contextlib.suppress(ValueError):
            self._spares.remove(spare)


class SessionPool:
    """All live sessions of one server: opens them, counts them, waits for each to end."""

    def __init__(self, config: ServerConfig, connect: Callable[[], Connection]) -> None:
        self.config = config
        self._connect = connect
        self._live: set[Connection] = set()
        self._freed = asyncio.Event()
        self.closed = False

    async def open(self, seconds: float) -> Connection:
        """Return a new session when its handshake is done.

        Waits for a place under `max_sessions`. Raises `ServerUnavailable`.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while len(self._live) >= self.config.max_sessions and not self.closed:
            self._freed.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._freed.wait(), max(deadline - loop.time(), 0))
            if loop.time() >= deadline:
                busy = f"all {self.config.max_sessions} sessions are busy (max_sessions)"
                raise ServerUnavailable(
                    f"{busy}; none was free within {seconds:g} s", server=self.config.name
                )
        if self.closed:
            raise ServerUnavailable("the bridge is closed", server=self.config.name)
        connection = self._connect()
        self._live.add(connection)
        connection.owner.add_done_callback(lambda task: self._forget(connection))
        await connection.wait_ready(max(deadline - loop.time(), 0.001))
        return connection

    def has_room(self) -> bool:
        return len(self._live) < self.config.max_sessions and not self.closed

    async def close(self) -> None:
        """End all sessions and wait until their servers are gone."""
        self.closed = True
        self._freed.set()
        for connection in self._live:
            connection.close_soon()
        if owners := {connection.owner for connection in self._live}:
            _, left = await asyncio.wait(owners, timeout=CLOSE_SECONDS)
            for owner in left:
                logger.warning("a session of MCP server '%s' does not end", self.config.name)
                owner.cancel()

    def _forget(self, connection: Connection) -> None:
        self._live.discard(connection)
        self._freed.set()


class FreshSessions:
    """A session for each call, never used before nor after."""

    def __init__(self, pool: SessionPool, budget: SpareBudget) -> None:
        self._pool = pool
        self._budget = budget
        self._spares: deque[Connection] = deque()
        self._refill: asyncio.Task[None] | None = None
        self._pause = 0.0
        self._expiry: dict[Connection, asyncio.TimerHandle] = {}

    @asynccontextmanager
    async def lease(self, chat: str | None, seconds: float) -> AsyncIterator[Connection]:
        """Yield a session for one call; it ends in the background afterwards."""
        connection = self._take_spare() or await self._pool.open(seconds)
        try:
            yield connection
        finally:
            connection.close_soon()
            self.refill()

    def offer(self, connection: Connection) -> None:
        """Take in a session that no call has used, as a spare; ends it where none is wanted."""
        if not self._keep(connection, oust=False):
            connection.close_soon()

    def drop_spares(self) -> None:
        """End all spares: the server has changed, or does not answer as it should."""
        for spare in tuple(self._spares):
            self._lose(spare)
            spare.close_soon()

    async def close(self) -> None:
        refill, self._refill = self._refill, None
        if refill is not None:
            refill.cancel()
            await asyncio.gather(refill, return_exceptions=True)
        self.drop_spares()
        await self._pool.close()

    def refill(self) -> None:
        """Begin to bring the spares up to `warm`, in the background."""
        if not self._pool.closed and (self._refill is None or self._refill.done()) and self._wanted():
            name = f"mcp spares of {self._pool.config.name}"
            self._refill = asyncio.create_task(self._fill(), name=name)

    def _wanted(self) -> bool:
        return len(self._spares) < self._pool.config.warm and self._pool.has_room()

    async def _fill(self) -> None:
        while self._wanted():
            await asyncio.sleep(self._pause)
            try:
                spare = await self._pool.open(self._pool.config.connect_timeout)
            except BridgeError as error:
                self._lengthen_pause()
                logger.debug("no spare session of '%s': %s", self._pool.config.name, error.message)
                return
            if not self._keep(spare, oust=True):
                spare.close_soon()
                return

    def _keep(self, spare: Connection, *, oust: bool) -> bool:
        if len(self._spares) >= self._pool.config.warm or not spare.alive:
            return False
        if not self._budget.add(spare, oust=oust):
            return False
        self._spares.append(spare)
        spare.on_end = self._spare_ended
        loop = asyncio.get_running_loop()
        self._expiry[spare] = loop.call_later(self._pool.config.idle_timeout, spare.close_soon)
        return True

    def _take_spare(self) -> Connection | None:
        while self._spares:
            spare = self._spares[0]
            self._lose(spare)
            if spare.alive:
                self._pause = 0.0
                return spare
        return None

    def _spare_ended(self, spare: Connection) -> None:
        """A spare ended: by itself, by age, or to make room for another server's."""
        if spare in self._spares:
            if not spare.closing:
                self._lengthen_pause()
            self._lose(spare)

    def _lose(self, spare: Connection) -> None:
        self._spares.remove(spare)
        self._budget.remove(spare)
        self._expiry.pop(spare).cancel()
        spare.on_end = lambda connection: None

    def _lengthen_pause(self) -> None:
        self._pause = min(max(2 * self._pause, SPARE_RETRY_SECONDS), MAX_SPARE_RETRY_SECONDS)
