"""Sessions that are kept: one for all calls of a server, or one for each chat."""

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
    """A session that is kept, with the calls that are running on it."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.calls = 0
        self.opening = asyncio.Lock()
        self.expiry: asyncio.TimerHandle | None = None


class KeptSessions:
    """One long-lived session for all calls or, `per_chat`, one for each chat.

    A session that has ended is opened anew by the next call, unless the configuration says
    not to `reopen` what the server ended; calls that want the same one wait for one opening.
    It ends after `idle_timeout` without calls, or when it is idle and another is waited for that has no place.
    After a start that failed none is tried for a while, with growing pauses, whoever calls.
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
            session.close_soon()  # a call has one, or will have it in a moment
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
        """Kept sessions hold state: they stay, for what they say themselves is current."""

    async def close(self) -> None:
        for kept in self._kept.values():
            if kept.expiry is not None:
                kept.expiry.cancel()
        await self._pool.close()

    def _begin(self, kept: _Kept) -> None:
        """Somebody uses it: it is not ended meanwhile."""
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
        """Tell whether no other session may take its place; one that is lost then says why, to each who uses it."""
        if session is None:
            return False
        return session.alive or (session.lost and not self._pool.config.reopen)

    async def _open(self, kept: _Kept, seconds: float) -> Session:
        async with kept.opening:
            if not self._stays(kept.session):
                self._heed_pause()
                self._make_room()
                former, kept.session = kept.session, None
                if former is not None and not former.busy:
                    former.close_soon()
                kept.session = await self._restart(seconds)
            assert kept.session is not None
            return kept.session

    def _heed_pause(self) -> None:
        """Raise `ServerUnavailable` if a start has failed just now."""
        error, wait = self._last_error, self._retry_at - asyncio.get_running_loop().time()
        if error is not None and wait > 0:
            cause = error.cause if isinstance(error, ServerUnavailable) else None
            text = f"{error.message} (next start in {math.ceil(wait)} s)"
            raise ServerUnavailable(text, server=self._pool.config.name, cause=cause)

    async def _restart(self, seconds: float) -> Session:
        """Open a kept session, and note whether that can be done."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            session = await self._pool.open(seconds)
        except AllBusy:
            raise
        except BridgeError as error:
            if self._retry_at <= begun:  # else another has failed meanwhile, and has counted for both
                self._last_error = error
                self._retry_at = loop.time() + self._retries.lengthen()
            raise
        self._started()
        return session

    def _started(self) -> None:
        """The server can be started: no pause is needed any more."""
        self._retries.reset()
        self._last_error = None

    def _make_room(self) -> None:
        """End the chat session that has rested longest if `max_sessions` leaves no place."""
        if not self._pool.has_room():
            self._end_idlest()

    def _end_idlest(self) -> None:
        """End the session that has rested longest, if one rests."""
        for key, kept in list(self._kept.items()):
            if not kept.calls and kept.session is not None:
                self._forget(key, kept)
                return

    def _rest(self, key: str | None, kept: _Kept) -> None:
        """Nobody uses it now: end it at once if it is worn out, else after `idle_timeout`."""
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
        """End a worn-out session that others may still be using, when their calls are done."""
        if not session.busy:
            session.close_soon()
