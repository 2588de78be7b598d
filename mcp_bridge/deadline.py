"""How long something may take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .errors import CallTimeout


async def happens(event: asyncio.Event, seconds: float | None) -> bool:
    """Wait for an event and tell whether it came in time.

    `asyncio.wait_for` before Python 3.12 loses a cancellation that comes together with the event.
    """
    waiter = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waiter}, timeout=seconds)
    finally:
        waiter.cancel()
    return event.is_set()


@dataclass(frozen=True)
class Deadline:
    """`idle` seconds without progress, `total` seconds altogether."""

    idle: float
    total: float

    async def wait(self, answer: asyncio.Future[Any], progress_at: Callable[[], float], server: str) -> None:
        """Wait until the answer is there; `progress_at` tells when progress was last heard of (loop time).

        Raises `CallTimeout`, and then leaves the answer to come.
        """
        loop = asyncio.get_running_loop()
        started = loop.time()
        while not answer.done():
            now = loop.time()
            idle_left = progress_at() + self.idle - now
            total_left = started + self.total - now
            if total_left <= 0 and (idle_left > 0 or self.total <= self.idle):
                raise CallTimeout(f"not done after {round(self.total, 1):g} s in all", server=server)
            if idle_left <= 0:
                raise CallTimeout(f"no answer and no progress for {round(self.idle, 1):g} s", server=server)
            await asyncio.wait({answer}, timeout=max(min(idle_left, total_left), 0))
