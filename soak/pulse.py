"""Whether this process got a processor when it wanted one: what took long is judged only if it did."""

from __future__ import annotations

import asyncio

BEAT_SECONDS = 0.05
STALL_SECONDS = 0.3
"""A beat so late shows that the machine, or this process, was busy with other things."""
RECENT_SECONDS = 10.0


class Pulse:
    """Beats on the loop of the callers and notes when a beat came late."""

    def __init__(self) -> None:
        self.stalls = 0
        self.longest = 0.0
        self._stalled_at = float("-inf")

    async def run(self) -> None:
        """Beat until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(BEAT_SECONDS)
            late = loop.time() - before - BEAT_SECONDS
            if late > STALL_SECONDS:
                self.stalls += 1
                self.longest = max(self.longest, late)
                self._stalled_at = loop.time()

    @property
    def steady(self) -> bool:
        """Whether no beat came late in the last seconds."""
        return asyncio.get_running_loop().time() - self._stalled_at > RECENT_SECONDS
