"""What asyncio lacks: deadlines with progress, waits that keep a cancellation, back-off, a fallback for threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from .errors import CallTimeout

T = TypeVar("T")


async def wait_for_event(event: asyncio.Event, seconds: float | None) -> bool:
    """Wait for an event; return whether it was set within that many seconds.

    `asyncio.wait_for` before Python 3.12 loses a cancellation that arrives together with the event.
    """
    waiter = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waiter}, timeout=seconds)
    finally:
        waiter.cancel()
    return event.is_set()


@dataclass(frozen=True)
class Deadline:
    """Time limits: `idle` seconds without progress, `total` seconds in all."""

    idle: float
    total: float

    async def wait(self, answer: asyncio.Future[T], progress_at: Callable[[], float], server: str) -> T:
        """Return the answer; `progress_at` returns the loop time of the latest progress.

        Raises what the answer raises, or `CallTimeout`; a response that arrives after that is ignored.
        `answer` must not be shared. It is awaited directly: each intermediate future costs one loop iteration.
        """
        watch = _Watch(self, answer, progress_at, server)
        watch.look()
        try:
            return await answer
        finally:
            watch.end()


class _Watch:
    """Sets `CallTimeout` on an answer when its time is up."""

    def __init__(
        self, limits: Deadline, answer: asyncio.Future[T], progress_at: Callable[[], float], server: str
    ) -> None:
        self._limits, self._answer, self._progress_at, self._server = limits, answer, progress_at, server
        self._loop = answer.get_loop()
        self._started = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

    def look(self) -> None:
        """Check whether the time is up; if not, check again at the earliest moment at which it can be."""
        if self._answer.done():
            return
        limits, now = self._limits, self._loop.time()
        idle_left = self._progress_at() + limits.idle - now
        total_left = self._started + limits.total - now
        if total_left <= 0 and (idle_left > 0 or limits.total <= limits.idle):
            self._fail(f"not done after {round(limits.total, 1):g} s in all")
        elif idle_left <= 0:
            self._fail(f"no answer and no progress for {round(limits.idle, 1):g} s")
        else:
            self._timer = self._loop.call_later(min(idle_left, total_left), self.look)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()  # also drops its reference to this object

    def _fail(self, text: str) -> None:
        self._answer.set_exception(CallTimeout(text, server=self._server))


class Backoff:
    """A pause in seconds that grows from 0 to `first` and then doubles up to `most`, until `reset`."""

    def __init__(self, first: float, most: float) -> None:
        self._first = first
        self._most = most
        self.pause = 0.0
        self.count = 0

    def lengthen(self) -> float:
        """Count one more failure in a row, and return the pause that follows it."""
        self.count += 1
        self.pause = min(2 * self.pause, self._most) if self.pause else self._first
        return self.pause

    def reset(self) -> None:
        self.pause, self.count = 0.0, 0


_Taken = ParamSpec("_Taken")
_Given = TypeVar("_Given")


async def run_in_thread(function: Callable[_Taken, _Given], *args: _Taken.args, **kwargs: _Taken.kwargs) -> _Given:
    """Run a function in a thread of the loop's pool, or in this one if the system cannot start a thread.

    Blocking the loop for a moment is better than losing a session. The function must be safe to run twice:
    a pool that could not start a thread keeps the work for the next free one.
    """
    try:
        return await asyncio.to_thread(function, *args, **kwargs)
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        return function(*args, **kwargs)
