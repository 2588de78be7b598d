"""The strategies `shared` and `chat`: one session for all calls of a server, or one for each chat."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from ..aio import Backoff
from ..errors import BridgeError, ServerUnavailable
from .fresh import MAX_RETRY_SECONDS, RETRY_SECONDS
from .pool import AllBusy, SessionPool
from .requests import ToolRequest
from .session import Session


class _Kept:
    """A kept session, with the number of calls that use it."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.calls = 0
        self.opening = asyncio.Lock()
        self.expiry: asyncio.TimerHandle | None = None


class KeptSessions:
    """One long-lived session for all calls or, `per_chat`, one for each chat.

    The next call reopens a session that has ended, unless `reopen` is false and the server ended it. Calls
    that need the same session wait for one opening. A session ends after `idle_timeout` without calls, or
    earlier when it is idle and a call of another chat waits for its place. After a failed start, further
    starts are delayed with exponential back-off, whichever chat calls.
    """

    def __init__(self, pool: SessionPool, *, per_chat: bool) -> None:
        self._pool = pool
        self._per_chat = per_chat
        self._kept: dict[str | None, _Kept] = {}
        self._retries = Backoff(RETRY_SECONDS, MAX_RETRY_SECONDS)
        self._retry_at = 0.0
        self._last_error: BridgeError | None = None

    @asynccontextmanager
    async def lease(self, call: ToolRequest, chat: str | None, seconds: float) -> AsyncIterator[Session]:
        key = chat if self._per_chat else None
        kept = self._kept.setdefault(key, _Kept())
        session: Session | None = None
        self._begin(kept)
        try:
            session = await self._open(kept, seconds)
            yield session
        finally:
            self._finish(key, kept, session)

    def offer(self, session: Session) -> None:
        self._started()
        if self._per_chat or not session.alive:
            session.close_soon()
            return
        kept = self._kept.setdefault(None, _Kept())
        if kept.opening.locked() or (kept.session is not None and kept.session.alive):
            session.close_soon()  # there is one already, or a call is opening it
            return
        kept.session = session
        if not kept.calls:
            self._rest(None, kept)

    @contextmanager
    def for_listing(self) -> Iterator[Session | None]:
        staying = [(key, kept) for key, kept in self._kept.items() if self._stays(kept.session)]
        if not staying:
            yield None
            return
        key, kept = staying[-1]
        session = kept.session
        self._begin(kept)
        try:
            yield session
        finally:
            self._finish(key, kept, session)

    def renew(self) -> None:
        """Do nothing: kept sessions hold state, and list their own current tools."""

    async def close(self) -> None:
        for kept in self._kept.values():
            if kept.expiry is not None:
                kept.expiry.cancel()
        await self._pool.close()

    def _begin(self, kept: _Kept) -> None:
        """Count a use: a session in use does not expire."""
        kept.calls += 1
        if kept.expiry is not None:
            kept.expiry.cancel()

    def _finish(self, key: str | None, kept: _Kept, session: Session | None) -> None:
        kept.calls -= 1
        if session is not None and not session.alive and session is not kept.session:
            self._end_when_unused(session)
        elif not kept.calls:
            self._rest(key, kept)

    def _stays(self, session: Session | None) -> bool:
        """Return whether the session is to be used. A lost one is if it may not be reopened: it reports the reason."""
        if session is None:
            return False
        return session.alive or (session.lost and not self._pool.config.reopen)

    async def _open(self, kept: _Kept, seconds: float) -> Session:
        async with kept.opening:
            if not self._stays(kept.session):
                self._check_pause()
                self._make_room()
                former, kept.session = kept.session, None
                if former is not None and not former.busy:
                    former.close_soon()
                kept.session = await self._restart(seconds)
            assert kept.session is not None
            return kept.session

    def _check_pause(self) -> None:
        """Raise `ServerUnavailable` during the pause after a failed start."""
        error, wait = self._last_error, self._retry_at - asyncio.get_running_loop().time()
        if error is not None and wait > 0:
            cause = error.cause if isinstance(error, ServerUnavailable) else None
            text = f"{error.message} (next start in {math.ceil(wait)} s)"
            raise ServerUnavailable(text, server=self._pool.config.name, cause=cause)

    async def _restart(self, seconds: float) -> Session:
        """Open a session, and start or end the pause before further starts."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            session = await self._pool.open(seconds)
        except AllBusy:
            raise
        except BridgeError as error:
            if self._retry_at <= begun:  # else a start that failed meanwhile has set the pause for both
                self._last_error = error
                self._retry_at = loop.time() + self._retries.lengthen()
            raise
        self._started()
        return session

    def _started(self) -> None:
        """End the pause: the server can be started."""
        self._retries.reset()
        self._last_error = None

    def _make_room(self) -> None:
        """End the longest idle session if `max_sessions` leaves no place."""
        if not self._pool.has_room():
            self._end_idlest()

    def _end_idlest(self) -> None:
        """End the longest idle session, if one is idle."""
        for key, kept in list(self._kept.items()):
            if not kept.calls and kept.session is not None:
                self._forget(key, kept)
                return

    def _rest(self, key: str | None, kept: _Kept) -> None:
        """End an unused session, at once if it cannot be used again, else after `idle_timeout`."""
        if not self._stays(kept.session):
            self._forget(key, kept)
            return
        self._kept[key] = self._kept.pop(key, kept)  # the most recently used comes last
        if self._pool.wants_room():
            self._end_idlest()
            if self._kept.get(key) is not kept:
                return
        loop = asyncio.get_running_loop()
        if kept.expiry is not None:
            kept.expiry.cancel()
        kept.expiry = loop.call_later(self._pool.config.idle_timeout, self._forget, key, kept)

    def _forget(self, key: str | None, kept: _Kept) -> None:
        if kept.expiry is not None:
            kept.expiry.cancel()
        if kept.session is not None:
            kept.session.close_soon()
        if self._kept.get(key) is kept:
            del self._kept[key]

    def _end_when_unused(self, session: Session) -> None:
        """End a replaced session when the calls that still use it have finished."""
        if not session.busy:
            session.close_soon()
