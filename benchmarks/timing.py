"""Samples, their statistics, and the round-robin in which they are taken."""

from __future__ import annotations

import asyncio
import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .errors import BenchmarkError

SAMPLE_SECONDS = 120.0
"""A sample that takes longer than this has hung."""
PAUSE_SECONDS = 0.05
"""Before each sample: the system still takes down the process of the last one when that is gone for us."""
SEED = 20_251_125
"""Of the order within a round: the same in every run, another one in every round."""


@dataclass
class Series:
    """The samples of one quantity, in seconds or in bytes, one for each round."""

    label: str
    values: list[float] = field(default_factory=list)

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def p90(self) -> float:
        """The smallest sample that at least nine tenths of all samples do not exceed."""
        return sorted(self.values)[math.ceil(0.9 * self.n) - 1]

    @property
    def least(self) -> float:
        return min(self.values)


AllSeries = dict[str, Series]


def paired_ratio(above: Series, below: Series) -> float:
    """Return the median of the ratios within each round: noise that hits both cancels out."""
    return statistics.median(a / b for a, b in zip(above.values, below.values, strict=True))


class Contender(Protocol):
    """Something that is measured against others of its kind."""

    label: str

    async def open(self) -> None:
        """Get ready; not measured."""

    async def sample(self) -> dict[str, float]:
        """Do it once, and return each quantity measured by its label. Raises if it failed."""

    async def settle(self) -> None:
        """Wait until nothing of the last sample goes on, so that it costs the next one nothing."""

    async def close(self) -> None:
        """Leave nothing behind."""


async def interleave(contenders: Sequence[Contender], rounds: int, advance: Callable[[], None]) -> AllSeries:
    """Take one sample of each contender per round, each round in another order.

    One round before the first is not counted. `advance` is called after each sample.
    Raises `BenchmarkError` at the first sample that fails.
    """
    series: AllSeries = {}
    order = list(contenders)
    shuffle = random.Random(SEED).shuffle
    opened: list[Contender] = []
    try:
        for contender in contenders:
            opened.append(contender)
            await contender.open()
            await contender.settle()
        for number in range(rounds + 1):
            shuffle(order)
            for contender in order:
                await asyncio.sleep(PAUSE_SECONDS)
                measured = await _sample(contender)
                await contender.settle()
                for label, value in measured.items() if number else ():
                    series.setdefault(label, Series(label)).values.append(value)
                advance()
    finally:
        for contender in reversed(opened):
            await contender.close()
    return series


async def _sample(contender: Contender) -> dict[str, float]:
    try:
        return await asyncio.wait_for(contender.sample(), SAMPLE_SECONDS)
    except BenchmarkError:
        raise
    except Exception as error:
        raise BenchmarkError(f"{contender.label}: {type(error).__name__}: {error}") from error
