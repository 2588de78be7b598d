"""What one run is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .progress import Progress
from .servers import NodeSubjects

SLOW_SHARE, SOME_SHARE = 12, 4
"""Samples that take long are taken in one of so many rounds, but at least in `LEAST_ROUNDS`."""
LEAST_ROUNDS = 3
MANY_TIMES = 2
"""How many times as often samples that take moments are taken: a twentieth of those is soon lost in the noise."""


@dataclass(frozen=True)
class Options:
    """`rounds` samples of each contender; `scratch` is a folder that is deleted after the run."""

    rounds: int
    quick: bool
    scratch: Path
    node: NodeSubjects
    progress: Progress

    @property
    def slow_rounds(self) -> int:
        """How many samples of what takes several seconds."""
        return max(self.rounds // SLOW_SHARE, LEAST_ROUNDS)

    @property
    def some_rounds(self) -> int:
        """How many samples of what takes about a second."""
        return max(self.rounds // SOME_SHARE, LEAST_ROUNDS)

    @property
    def many_rounds(self) -> int:
        """How many samples of what takes less than a tenth of a second."""
        return self.rounds * MANY_TIMES

    def data_dir(self, name: str) -> Path:
        """Return an empty data folder of that name."""
        for number in range(1_000_000):
            folder = self.scratch / f"{name}-{number}"
            if not folder.exists():
                folder.mkdir(parents=True)
                return folder
        raise AssertionError("unreachable")
