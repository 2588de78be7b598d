"""Spare sessions: started and initialized ahead of the call that will use them."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterator

from ..config.server_config import ServerConfig
from .session import Session

MAX_BURST_FACTOR = 4
"""Spares kept after a burst of calls, in multiples of `warm`."""
CALM_SECONDS = 60.0
"""How long after the last call that found no spare the number of spares falls back to `warm`."""


class SpareBudget:
    """Limits how many spares all servers of a bridge keep together; a newer one displaces the oldest."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._spares: deque[Session] = deque()

    def add(self, spare: Session, *, displace: bool) -> bool:
        """Count a spare; return whether there is room for it, made by ending the oldest if that is allowed."""
        if len(self._spares) >= self.limit:
            if not displace or not self.limit:
                return False
            self._spares.popleft().close_soon()
        self._spares.append(spare)
        return True

    def remove(self, spare: Session) -> None:
        with contextlib.suppress(ValueError):
            self._spares.remove(spare)


class Spares:
    """The spares of one server, and how many of them it should have: `warm`, and more during a burst of calls.

    `on_lost` is called when a spare ends that the bridge did not want to end.
    """

    def __init__(self, config: ServerConfig, budget: SpareBudget, on_lost: Callable[[], None]) -> None:
        self._config = config
        self._budget = budget
        self._on_lost = on_lost
        self._spares: deque[Session] = deque()
        self._expiry: dict[Session, asyncio.TimerHandle] = {}
        self._target = config.warm
        self._missed_at = 0.0

    def __iter__(self) -> Iterator[Session]:
        return iter(self._spares)

    @property
    def missing(self) -> bool:
        """Whether there are fewer spares than there should be."""
        if asyncio.get_running_loop().time() - self._missed_at >= CALM_SECONDS:
            self._target = min(self._target, self._config.warm)
        return len(self._spares) < self._target

    def add(self, spare: Session, *, displace: bool) -> bool:
        """Keep a session as a spare for `idle_timeout`; return whether there is room for it."""
        if len(self._spares) >= self._target or not spare.alive or not self._budget.add(spare, displace=displace):
            return False
        self._spares.append(spare)
        spare.on_end = self._ended
        loop = asyncio.get_running_loop()
        self._expiry[spare] = loop.call_later(self._config.idle_timeout, spare.close_soon)
        return True

    def take(self) -> Session | None:
        """Return the oldest spare that is alive, for a call. If there is none, more are kept for a while."""
        while self._spares:
            spare = self._spares[0]
            self._remove(spare)
            if spare.alive:
                return spare
        now = asyncio.get_running_loop().time()
        recent = now - self._missed_at < CALM_SECONDS
        self._target = min(self._target + 1, self._config.warm * MAX_BURST_FACTOR) if recent else self._config.warm
        self._missed_at = now
        return None

    def end_all(self) -> None:
        """Begin to end every spare."""
        for spare in tuple(self._spares):
            self._remove(spare)
            spare.close_soon()

    def close(self) -> None:
        """Keep no spare any more."""
        self._target = 0
        self.end_all()

    def _ended(self, spare: Session) -> None:
        """A spare has ended: by itself, by age, or displaced by another server's."""
        if spare in self._spares:
            self._remove(spare)
            if not spare.closing:
                self._on_lost()

    def _remove(self, spare: Session) -> None:
        self._spares.remove(spare)
        self._budget.remove(spare)
        self._expiry.pop(spare).cancel()
        spare.on_end = None
