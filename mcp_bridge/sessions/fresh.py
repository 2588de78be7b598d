"""The strategy `fresh`: every call gets a session that no call has used before, and none will use again.

Spares make that as fast as a session that is kept. The strategies that keep sessions are in `kept.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext

from ..aio import Backoff
from ..errors import BridgeError
from .pool import SessionPool
from .requests import ToolRequest
from .session import Session
from .spares import SpareBudget, Spares

logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
MAX_RETRY_SECONDS = 300.0
"""Pause before a spare or a kept session that failed to start, or died, is replaced; doubles each time."""
REFILL_SECONDS = 0.1
"""How long a call may take before its spare is replaced while it runs."""


class FreshSessions:
    """Lends each call a session of its own, and keeps spares for the next calls."""

    def __init__(self, pool: SessionPool, budget: SpareBudget) -> None:
        self.spares = Spares(pool.config, budget, self._spare_lost)
        self._pool = pool
        self._refill: asyncio.Task[None] | None = None
        self._retries = Backoff(RETRY_SECONDS, MAX_RETRY_SECONDS)

    @property
    def refilling(self) -> bool:
        """Whether a spare is being opened."""
        return self._refill is not None and not self._refill.done()

    @asynccontextmanager
    async def lease(self, call: ToolRequest, chat: str | None, seconds: float) -> AsyncIterator[Session]:
        session = self.spares.take()
        if session is None:
            session = await self._pool.open(seconds, call)
        else:
            self._retries.reset()
        loop = asyncio.get_running_loop()
        # A short call is answered first: a server that starts at the same time would slow it down.
        refill = loop.call_later(REFILL_SECONDS, self.refill)
        try:
            yield session
        finally:
            refill.cancel()
            session.close_soon()
            loop.call_soon(self.refill)
            session.owner.add_done_callback(lambda task: self.refill())  # its end may have made room

    def offer(self, session: Session) -> None:
        if not self._keep(session, displace=False):
            session.close_soon()

    def for_listing(self) -> AbstractContextManager[Session | None]:
        return nullcontext()

    def renew(self) -> None:
        self.spares.end_all()

    async def close(self) -> None:
        refill, self._refill = self._refill, None
        self.spares.close()
        if refill is not None:
            refill.cancel()
            await asyncio.gather(refill, return_exceptions=True)
        self.spares.close()  # the refill may have added one more
        await self._pool.close()

    def refill(self) -> None:
        """Start opening the spares that are missing, in the background."""
        if not self.refilling and self._wanted():
            name = f"mcp spares of {self._pool.config.name}"
            self._refill = asyncio.create_task(self._fill(), name=name)

    def _wanted(self) -> bool:
        return self.spares.missing and self._pool.has_room() and not self._pool.waiting

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
            if not self._keep(spare, displace=True):
                spare.close_soon()
                return

    def _keep(self, spare: Session, *, displace: bool) -> bool:
        return not self._pool.waiting and self.spares.add(spare, displace=displace)

    def _spare_lost(self) -> None:
        self._retries.lengthen()
        self.refill()
