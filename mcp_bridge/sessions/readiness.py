"""Whether a session has opened, for the callers that wait for it."""

from __future__ import annotations

import asyncio


class Readiness:
    """Set once: the session is ready, or has failed to open."""

    def __init__(self) -> None:
        self._outcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters: set[asyncio.Future[None]] = set()

    @property
    def known(self) -> bool:
        """Whether the session is ready or has failed."""
        return self._outcome.done()

    def succeed(self) -> None:
        """Let the callers go on."""
        if not self.known:
            self._outcome.set_result(None)
            self._wake_all()

    def fail(self, error: Exception) -> None:
        """Raise an error in every caller that waits, and in later ones."""
        if not self.known:
            self._outcome.set_exception(error)
            self._outcome.exception()  # retrieved: no caller may be waiting any more
            self._wake_all()

    async def wait(self, seconds: float) -> bool:
        """Wait until it is known; return whether that was in time. Raises the error of a failure."""
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        timer = loop.call_later(seconds, _wake, waiter)
        self._waiters.add(waiter)
        try:
            if not self.known:
                await waiter
        finally:
            timer.cancel()
            self._waiters.discard(waiter)
        if self.known:
            self._outcome.result()
        return self.known

    def _wake_all(self) -> None:
        """Wake the waiters at once: by way of `_outcome` it would take another turn of the loop."""
        for waiter in self._waiters:
            _wake(waiter)


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
