"""Whether the memory of a process grows."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from dataclasses import dataclass, field
from statistics import median

import psutil

MIB = 2**20
_ARENA_MAX, _MMAP_THRESHOLD = -8, -3
"""Of `mallopt` in glibc's malloc.h."""
WARM_SECONDS = 120.0
"""Until then memory is taken once for all: modules, pools of threads, buffers."""
LEAST_SECONDS = 240.0
"""A shorter run proves nothing."""
LIMIT_MIB = 2.0
MOST_COMPARED = 5
"""So many samples of the beginning and of the end are compared, by their medians, if there are enough."""


@dataclass
class Memory:
    """Resident bytes at comparable moments; times are seconds since the start of the run.

    A run has four calls at one moment and forty at another, one generation or four: only what is
    there when all of that has ended shows whether anything stays.
    """

    samples: list[tuple[float, int]] = field(default_factory=list)

    def sample(self, now: float) -> None:
        """Take a sample, with nothing left to be collected, nor kept by the allocator for later."""
        gc.collect()
        _trim()
        self.samples.append((now, rss()))

    @property
    def growth_mib(self) -> float | None:
        """Growth from minute 2 to the end; None if the run was too short."""
        warm = [used for now, used in self.samples if now >= WARM_SECONDS]
        if len(warm) < 2 or self.samples[-1][0] < LEAST_SECONDS:
            return None
        count = min(max(len(warm) // 4, 1), MOST_COMPARED)
        return (median(warm[-count:]) - median(warm[:count])) / MIB

    @property
    def slope_mib_per_hour(self) -> float | None:
        """Slope of the line through the samples since minute 2; None if there are too few."""
        points = [(now, rss) for now, rss in self.samples if now >= WARM_SECONDS]
        if len(points) < 3:
            return None
        mean_time = sum(now for now, _ in points) / len(points)
        mean_rss = sum(rss for _, rss in points) / len(points)
        spread = sum((now - mean_time) ** 2 for now, _ in points)
        together = sum((now - mean_time) * (rss - mean_rss) for now, rss in points)
        return together / spread * 3600 / MIB if spread else None


def rss() -> int:
    """Return the resident bytes of this process."""
    return int(psutil.Process().memory_info().rss)


def settle_allocator() -> None:
    """Let the allocator keep little memory for later, where it can be set (glibc). Call before any thread starts.

    Left alone it makes a heap for each of up to 16 threads, and takes ever larger pieces from them: how
    much of that is touched says more about chance than about this process, and it is several MiB.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_ARENA_MAX, 1)
        mallopt(_MMAP_THRESHOLD, 128 * 1024)


def _trim() -> None:
    """Have the allocator give back what it keeps, where it can (glibc)."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
