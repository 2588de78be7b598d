"""Leases: which session a call gets.

A strategy is a value: `async with sessions.lease(call, chat, seconds) as session` yields the
session for one call. `FreshSessions` gives each call a session that no call has used before
and none will use again; started and initialised spares make that as quick as a session
kept for ever. The sessions of `sessions/kept.py` serve many calls each.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext

from ..aio import Backoff
from ..errors import BridgeError
from .pool import SessionPool, SpareBudget
from .requests import ToolRequest
from .session import Session

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


class FreshSessions:
    """A session for each call, never used before nor after."""

    def __init__(self, pool: SessionPool, budget: SpareBudget) -> None:
        self._pool = pool
        self._budget = budget
        self._spares: deque[Session] = deque()
        self._expiry: dict[Session, asyncio.TimerHandle] = {}
        self._refill: asyncio.Task[None] | None = None
        self._retries = Backoff(RETRY_SECONDS, MAX_RETRY_SECONDS)
        self._target = pool.config.warm
        self._missed_at = 0.0

    @asynccontextmanager
    async def lease(self, call: ToolRequest, chat: str | None, seconds: float) -> AsyncIterator[Session]:
        session = self._take_spare()
        if session is None:
            self._missed()
            session = await self._pool.open(seconds, call)
        loop = asyncio.get_running_loop()
        # A short call is answered first: a server that starts beside it would slow it down.
        refill = loop.call_later(REFILL_SECONDS, self.refill)
        try:
            yield session
        finally:
            refill.cancel()
            session.close_soon()
            loop.call_soon(self.refill)
            session.owner.add_done_callback(lambda task: self.refill())  # perhaps it made room

    def offer(self, session: Session) -> None:
        if not self._keep(session, oust=False):
            session.close_soon()

    def for_listing(self) -> AbstractContextManager[Session | None]:
        return nullcontext()

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

    def _keep(self, spare: Session, *, oust: bool) -> bool:
        if len(self._spares) >= self._target or not spare.alive or self._pool.waiting:
            return False
        if not self._budget.add(spare, oust=oust):
            return False
        self._spares.append(spare)
        spare.on_end = self._spare_ended
        loop = asyncio.get_running_loop()
        self._expiry[spare] = loop.call_later(self._pool.config.idle_timeout, spare.close_soon)
        return True

    def _take_spare(self) -> Session | None:
        while self._spares:
            spare = self._spares[0]
            self._lose(spare)
            if spare.alive:
                self._retries.reset()
                return spare
        return None

    def _spare_ended(self, spare: Session) -> None:
        """A spare ended: by itself, by age, or to make room for another server's."""
        if spare not in self._spares:
            return
        self._lose(spare)
        if not spare.closing:
            self._retries.lengthen()
            self.refill()

    def _lose(self, spare: Session) -> None:
        self._spares.remove(spare)
        self._budget.remove(spare)
        self._expiry.pop(spare).cancel()
        spare.on_end = lambda session: None
