"""Whether the memory of a process grows."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field

import psutil

MIB = 2**20
WARM_SECONDS = 120.0
"""Until then memory is taken once for all: modules, pools of threads, buffers."""
WINDOW_SECONDS = 60.0
"""Two medians over so long are compared: single samples jump by what a running call holds."""
LEAST_SECONDS = 240.0
"""A shorter run tells nothing."""
LIMIT_MIB = 2.0


@dataclass
class Memory:
    """Samples of resident bytes; times are seconds since the start of the run."""

    samples: list[tuple[float, int]] = field(default_factory=list)

    def sample(self, now: float) -> None:
        """Take a sample, with nothing left to be collected."""
        gc.collect()
        self.samples.append((now, psutil.Process().memory_info().rss))

    @property
    def last_mib(self) -> float:
        return self.samples[-1][1] / MIB if self.samples else 0.0

    @property
    def growth_mib(self) -> float | None:
        """Growth from minute 2 to the end; None if the run was too short to tell."""
        end = self.samples[-1][0] if self.samples else 0.0
        if end < LEAST_SECONDS:
            return None
        first = [rss for now, rss in self.samples if WARM_SECONDS <= now < WARM_SECONDS + WINDOW_SECONDS]
        last = [rss for now, rss in self.samples if now > end - WINDOW_SECONDS]
        return (_median(last) - _median(first)) / MIB

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


def _median(values: list[int]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
