"""All live sessions of one server, and how many there may be."""

from __future__ import annotations

import asyncio
import logging
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
"""Pause before a listing for which no session was free is tried again."""


class AllBusy(ServerUnavailable):
    """All `max_sessions` sessions are in use. Nothing is wrong with the server."""


class SessionPool:
    """Opens the sessions of one server, counts them, and waits for their end."""

    def __init__(self, config: ServerConfig, connect: Callable[[], Session]) -> None:
        self.config = config
        self._connect = connect
        self._live: set[Session] = set()
        self._freed = asyncio.Event()
        self._closed = False
        self.waiting = 0
        """How many callers wait for a place: spares must not take it from them."""

    async def open(self, seconds: float, first: ToolRequest | None = None) -> Session:
        """Return a new session when it is initialized; the call `first` may have been sent by then.

        Waits for a place under `max_sessions`. Raises `ServerUnavailable`, `AllBusy` if no place becomes free.
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
        """Tell whether more callers wait for a place than places are free or about to become free."""
        free = self.config.max_sessions - len(self._live)  # some callers may have been woken for it
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
