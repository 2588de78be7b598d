"""All live sessions of one server, and how many of them may be spares."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable

from ..aio import wait_for_event
from ..config.server_config import ServerConfig
from ..errors import ServerUnavailable
from .requests import ToolRequest
from .session import Session

logger = logging.getLogger(__name__)

CLOSE_SECONDS = 8.0
"""How long all sessions of a server may take to end; each takes 5 s at the most."""


BUSY_SECONDS = 5.0
"""When something for which no session was free, and nobody waits, is tried again."""


class AllBusy(ServerUnavailable):
    """Every session that the owner allows is in use: nothing is wrong with the server."""


class SpareBudget:
    """How many spares all servers of a bridge may keep together; a newer one ousts the oldest."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._spares: deque[Session] = deque()

    def add(self, spare: Session, *, oust: bool) -> bool:
        """Count a spare; tell whether there is room for it, made by ending an older one if allowed."""
        if len(self._spares) >= self.limit:
            if not oust or not self.limit:
                return False
            self._spares.popleft().close_soon()
        self._spares.append(spare)
        return True

    def remove(self, spare: Session) -> None:
        with contextlib.suppress(ValueError):
            self._spares.remove(spare)


class SessionPool:
    """Opens the sessions of one server, counts them, and waits for each to end."""

    def __init__(self, config: ServerConfig, connect: Callable[[], Session]) -> None:
        self.config = config
        self._connect = connect
        self._live: set[Session] = set()
        self._freed = asyncio.Event()
        self._closed = False
        self.waiting = 0
        """How many callers wait for a place now: spares must not take it from them."""

    async def open(self, seconds: float, first: ToolRequest | None = None) -> Session:
        """Return a new session when its handshake is done; the call that it is opened for may be on its way then.

        Waits for a place under `max_sessions`. Raises `ServerUnavailable`, `AllBusy` if none becomes free.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not self.has_room() and not self._closed:
            self._freed.clear()
            self.waiting += 1
            try:
                await wait_for_event(self._freed, max(deadline - loop.time(), 0))
            finally:
                self.waiting -= 1
            if loop.time() >= deadline and not self.has_room():
                busy = f"all {self.config.max_sessions} sessions are busy (max_sessions)"
                text = f"{busy}; none was free within {round(seconds, 1):g} s"
                raise AllBusy(text, server=self.config.name)
        if self._closed:
            raise ServerUnavailable("the bridge is shut down", server=self.config.name)
        session = self._connect()
        if first is not None:
            session.prepare(first)
        self._live.add(session)
        session.owner.add_done_callback(lambda task: self._forget(session))
        await session.wait_ready(max(deadline - loop.time(), 0.001))
        return session

    def has_room(self) -> bool:
        """Tell whether another session may be opened now."""
        return len(self._live) < self.config.max_sessions and not self._closed

    def wants_room(self) -> bool:
        """Tell whether more callers wait for a place than there are free ones, or sessions about to give one up."""
        free = self.config.max_sessions - len(self._live)  # one that was told of it may not have taken it yet
        return self.waiting > free + sum(session.closing or session.lost for session in self._live)

    async def close(self) -> None:
        """End all sessions and wait until their servers are gone."""
        self._closed = True
        self._freed.set()
        for session in self._live:
            session.close_soon()
        if owners := {session.owner for session in self._live}:
            _, left = await asyncio.wait(owners, timeout=CLOSE_SECONDS)
            for owner in left:
                logger.warning("a session of MCP server '%s' does not end", self.config.name)
                owner.cancel()

    def _forget(self, session: Session) -> None:
        self._live.discard(session)
        self._freed.set()
