"""Leases: which session a call gets.

A strategy is a value: `async with sessions.lease(chat, seconds) as connection` yields the
session for one call. `FreshSessions` gives each call a session that no call has used before
and none will use again; started and initialised spares make that as quick as a session
kept for ever. `KeptSessions` keeps one session for all calls, or one for each chat.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from .backoff import Backoff
from .connection import Connection
from .errors import BridgeError, ServerUnavailable
from .pool import SessionPool, SpareBudget

logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
MAX_RETRY_SECONDS = 300.0
"""Pause before a spare or a kept session that would not start, or died, is replaced; doubles each time."""
REFILL_SECONDS = 0.1
"""How long a call may take before its spare is replaced while it runs."""
MAX_BURST_FACTOR = 4
"""Spares kept after a burst of calls, in multiples of `warm`."""
CALM_SECONDS = 60.0
"""How long after the last call that found no spare the number of spares falls back to `warm`."""


class Sessions(Protocol):
    """How calls to one server get their sessions."""

    def lease(self, chat: str | None, seconds: float) -> AbstractAsyncContextManager[Connection]:
        """Lend a session for one call, opened within `seconds`. Raises `ServerUnavailable`."""

    def offer(self, connection: Connection) -> None:
        """Take in a session that no call has used, or end it where none is wanted."""

    def for_listing(self) -> Connection | None:
        """Return the session that must be asked for the tools, None if a new one is to be."""

    def renew(self) -> None:
        """Let no further call begin on a session that is open now."""

    async def close(self) -> None:
        """End everything and wait for it."""


class FreshSessions:
    """A session for each call, never used before nor after."""

    def __init__(self, pool: SessionPool, budget: SpareBudget) -> None:
        self._pool = pool
        self._budget = budget
        self._spares: deque[Connection] = deque()
        self._expiry: dict[Connection, asyncio.TimerHandle] = {}
        self._refill: asyncio.Task[None] | None = None
        self._retries = Backoff(RETRY_SECONDS, MAX_RETRY_SECONDS)
        self._target = pool.config.warm
        self._missed_at = 0.0

    @asynccontextmanager
    async def lease(self, chat: str | None, seconds: float) -> AsyncIterator[Connection]:
        connection = self._take_spare()
        if connection is None:
            self._missed()
            connection = await self._pool.open(seconds)
        loop = asyncio.get_running_loop()
        # A short call is answered first: a server that starts beside it would slow it down.
        refill = loop.call_later(REFILL_SECONDS, self.refill)
        try:
            yield connection
        finally:
            refill.cancel()
            connection.close_soon()
            loop.call_soon(self.refill)
            connection.owner.add_done_callback(lambda task: self.refill())  # perhaps it made room

    def offer(self, connection: Connection) -> None:
        if not self._keep(connection, oust=False):
            connection.close_soon()

    def for_listing(self) -> Connection | None:
        return None

    def renew(self) -> None:
        for spare in tuple(self._spares):
            self._lose(spare)
            spare.close_soon()

    async def close(self) -> None:
        refill, self._refill = self._refill, None
        self._target = 0
        if refill is not None:
            refill.cancel()
            await asyncio.gather(refill, return_exceptions=True)
        self.renew()
        await self._pool.close()

    def refill(self) -> None:
        """Begin to bring the spares up to the number wanted, in the background."""
        if (self._refill is None or self._refill.done()) and self._wanted():
            name = f"mcp spares of {self._pool.config.name}"
            self._refill = asyncio.create_task(self._fill(), name=name)

    def _missed(self) -> None:
        """A call found no spare: keep more of them for a while, as long as the burst lasts."""
        now = asyncio.get_running_loop().time()
        warm = self._pool.config.warm
        recent = now - self._missed_at < CALM_SECONDS
        self._target = min(self._target + 1, warm * MAX_BURST_FACTOR) if recent else warm
        self._missed_at = now

    def _wanted(self) -> bool:
        if asyncio.get_running_loop().time() - self._missed_at >= CALM_SECONDS:
            self._target = min(self._target, self._pool.config.warm)
        return len(self._spares) < self._target and self._pool.has_room() and not self._pool.waiting

    async def _fill(self) -> None:
        while self._wanted():
            await asyncio.sleep(self._retries.pause)
            try:
                spare = await self._pool.open(self._pool.config.connect_timeout)
            except BridgeError as error:
                self._retries.lengthen()
                logger.debug("no spare session of '%s': %s", self._pool.config.name, error.message)
                return
            await spare.rehearse()
            if not self._keep(spare, oust=True):
                spare.close_soon()
                return

    def _keep(self, spare: Connection, *, oust: bool) -> bool:
        if len(self._spares) >= self._target or not spare.alive or self._pool.waiting:
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
                self._retries.reset()
                return spare
        return None

    def _spare_ended(self, spare: Connection) -> None:
        """A spare ended: by itself, by age, or to make room for another server's."""
        if spare not in self._spares:
            return
        self._lose(spare)
        if not spare.closing:
            self._retries.lengthen()
            self.refill()

    def _lose(self, spare: Connection) -> None:
        self._spares.remove(spare)
        self._budget.remove(spare)
        self._expiry.pop(spare).cancel()
        spare.on_end = lambda connection: None


class _Kept:
    """A session that is kept, with the calls that are running on it."""

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.calls = 0
        self.opening = asyncio.Lock()
        self.retries = Backoff(RETRY_SECONDS, MAX_RETRY_SECONDS)
        self.retry_at = 0.0
        self.last_error: BridgeError | None = None
        self.expiry: asyncio.TimerHandle | None = None


class KeptSessions:
    """One long-lived session for all calls or, `per_chat`, one for each chat.

    A session that has ended is opened anew by the next call, unless the configuration says
    not to `reopen` what the server ended; calls that want the same one wait for one opening.
    It ends after `idle_timeout` without calls.
    """

    def __init__(self, pool: SessionPool, *, per_chat: bool) -> None:
        self._pool = pool
        self._per_chat = per_chat
        self._kept: dict[str | None, _Kept] = {}

    @asynccontextmanager
    async def lease(self, chat: str | None, seconds: float) -> AsyncIterator[Connection]:
        key = chat if self._per_chat else None
        kept = self._kept.setdefault(key, _Kept())
        kept.calls += 1
        if kept.expiry is not None:
            kept.expiry.cancel()
        connection: Connection | None = None
        try:
            connection = await self._open(kept, seconds)
            yield connection
        finally:
            kept.calls -= 1
            if connection is not None and not connection.alive and connection is not kept.connection:
                self._end_when_unused(connection)
            elif not kept.calls:
                self._rest(key, kept)

    def offer(self, connection: Connection) -> None:
        if self._per_chat or not connection.alive:
            connection.close_soon()
            return
        kept = self._kept.setdefault(None, _Kept())
        if kept.connection is None or not kept.connection.alive:
            kept.connection = connection
            self._rest(None, kept)
        elif kept.connection is not connection:
            connection.close_soon()

    def for_listing(self) -> Connection | None:
        staying = [kept.connection for kept in self._kept.values() if self._stays(kept.connection)]
        return staying[-1] if staying else None

    def renew(self) -> None:
        """Kept sessions hold state: they stay, for what they say themselves is current."""

    async def close(self) -> None:
        for kept in self._kept.values():
            if kept.expiry is not None:
                kept.expiry.cancel()
        await self._pool.close()

    def _stays(self, connection: Connection | None) -> bool:
        """Tell whether no other session may take its place; one that is lost then says why, to each who uses it."""
        if connection is None:
            return False
        return connection.alive or (connection.lost and not self._pool.config.reopen)

    async def _open(self, kept: _Kept, seconds: float) -> Connection:
        async with kept.opening:
            if not self._stays(kept.connection):
                self._make_room()
                former, kept.connection = kept.connection, None
                if former is not None and not former.busy:
                    former.close_soon()
                kept.connection = await self._restart(kept, seconds)
            assert kept.connection is not None
            return kept.connection

    async def _restart(self, kept: _Kept, seconds: float) -> Connection:
        """Open a kept session anew, unless that has failed just now."""
        loop = asyncio.get_running_loop()
        wait = kept.retry_at - loop.time()
        if kept.last_error is not None and wait > 0:
            text = f"{kept.last_error.message} (next start in {wait:.0f} s)"
            raise ServerUnavailable(text, server=self._pool.config.name)
        try:
            connection = await self._pool.open(seconds)
        except BridgeError as error:
            kept.last_error = error
            kept.retry_at = loop.time() + kept.retries.lengthen()
            raise
        kept.retries.reset()
        kept.last_error = None
        return connection

    def _make_room(self) -> None:
        """End the chat session that has rested longest if `max_sessions` leaves no place."""
        if self._pool.has_room():
            return
        for key, kept in list(self._kept.items()):
            if not kept.calls and kept.connection is not None:
                self._forget(key, kept)
                return

    def _rest(self, key: str | None, kept: _Kept) -> None:
        """Nobody uses it now: end it at once if it is worn out, else after `idle_timeout`."""
        if not self._stays(kept.connection):
            self._forget(key, kept)
            return
        self._kept[key] = self._kept.pop(key, kept)  # the most recently used comes last
        loop = asyncio.get_running_loop()
        if kept.expiry is not None:
            kept.expiry.cancel()
        kept.expiry = loop.call_later(self._pool.config.idle_timeout, self._forget, key, kept)

    def _forget(self, key: str | None, kept: _Kept) -> None:
        if kept.expiry is not None:
            kept.expiry.cancel()
        if kept.connection is not None:
            kept.connection.close_soon()
        if self._kept.get(key) is kept:
            del self._kept[key]

    def _end_when_unused(self, connection: Connection) -> None:
        """End a worn-out session that others may still be using, when their calls are done."""
        if not connection.busy:
            connection.close_soon()
