"""How much of the machine a run takes: the pause between calls follows what is really used."""

from __future__ import annotations

import asyncio
import contextlib
import os

import psutil

LOOK_SECONDS = 5.0
LEAST_PAUSE, MOST_PAUSE = 0.02, 30.0
"""Mean seconds that a chat waits between two calls."""


class Load:
    """Steers `pause` so that this process and all below it use about `cores` processors."""

    def __init__(self, cores: float) -> None:
        self.pause = 1.0
        self.used = 0.0
        """Processors used in the last seconds."""
        self._cores = cores

    async def run(self) -> None:
        """Look and steer until cancelled."""
        loop = asyncio.get_running_loop()
        then, before = loop.time(), cpu_seconds()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            now, total = loop.time(), cpu_seconds()
            self.used = max(total - before, 0.0) / (now - then)
            then, before = now, total
            self.pause = min(max(self.pause * min(max(self.used / self._cores, 0.7), 1.4), LEAST_PAUSE), MOST_PAUSE)


def cpu_seconds() -> float:
    """Return what this process, all that ended below it, and all that lives below it have used."""
    times = os.times()
    total = times.user + times.system + times.children_user + times.children_system
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            used = child.cpu_times()
            total += used.user + used.system
    return total
