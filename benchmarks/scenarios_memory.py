"""Memory: a spare of each server, and how our own process grows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import psutil

from mcp_bridge.bridge.bridge import Bridge

from . import insight
from .children import run_child
from .errors import BenchmarkError
from .memory import MIB, tree_rss, tree_uss
from .options import LEAST_ROUNDS, Options
from .report import Section, Table
from .servers import Subject, calculator, config, minimal, odd
from .timing import AllSeries, Series, interleave

REST_SECONDS = 1.0
"""What discovery has opened is gone after this, and what a process does once it has done."""
COUNTS = (1, 10, 50)
MANY_TOOLS = 1000
IMPORTED = "mcp_bridge imported, beyond bare Python"
SDK = "the SDK imported, beyond that"


class Spare:
    """The memory of one spare; for each sample a new one."""

    def __init__(self, subject: Subject, options: Options) -> None:
        self.label = subject.name
        self._subject = subject
        self._options = options

    async def open(self) -> None:
        pass

    async def sample(self) -> dict[str, float]:
        checked = config({self._subject.name: self._subject.entry()})
        async with Bridge(checked, data_dir=self._options.data_dir("spare")) as bridge:
            await insight.at_rest(bridge, spares=1)
            (pid,) = insight.spare_pids(bridge)
            others = {child.pid for child in psutil.Process().children()} - {pid}
            if len(others) != 1:
                raise BenchmarkError(f"one guardian was expected, not {len(others)} processes")
            measured = {f"{self.label}: resident": float(tree_rss(pid)), f"{self.label}: its own": float(tree_uss(pid))}
            return {**measured, "guardian: resident": float(tree_rss(others.pop()))}

    async def settle(self) -> None:
        pass

    async def close(self) -> None:
        pass


class Growth:
    """The growth of a new process of ours; reports what imports cost, too."""

    def __init__(self, label: str, servers: Mapping[str, Mapping[str, Any]], tools: int, options: Options) -> None:
        self.label = label
        self._servers = servers
        self._tools = tools
        self._options = options

    async def open(self) -> None:
        pass

    async def sample(self) -> dict[str, float]:
        job = {
            "config": {"mcp": {"servers": self._servers, "max_tools": 100_000}},
            "data_dir": str(self._options.data_dir("growth")),
            "tools": self._tools,
            "rest": REST_SECONDS,
        }
        sizes = await run_child("child_memory", job)
        return {
            IMPORTED: sizes["bridge"] - sizes["bare"],
            SDK: sizes["sdk"] - sizes["bridge"],
            self.label: sizes["ready"] - sizes["sdk"],
        }

    async def settle(self) -> None:
        pass

    async def close(self) -> None:
        pass


async def memory(options: Options) -> AsyncIterator[Section]:
    """Measure spares and growth."""
    yield await _spares(options)
    yield await _growth(options)


async def _spares(options: Options) -> Section:
    subjects = (calculator(), minimal(), *options.node.all)
    spares = [Spare(subject, options) for subject in subjects]
    options.progress.begin("memory of spares", len(spares) * (LEAST_ROUNDS + 1))
    series = await interleave(spares, LEAST_ROUNDS, options.progress.advance)
    note = "`resident` counts shared pages in each process of the tree, `its own` is what ending it would free."
    return Section("Memory of one spare", (_table("MiB", series),), notes=(note,))


async def _growth(options: Options) -> Section:
    contenders = []
    for strategy, keys in (("warm = 0", {"warm": 0}), ("shared, sessions open", {"session": "shared"})):
        for count in COUNTS:
            subjects = [odd("normal", name=f"server{number}") for number in range(count)]
            servers = {subject.name: subject.entry(**keys) for subject in subjects}
            contenders.append(Growth(f"{count} servers, {strategy}", servers, 2 * count, options))
    many = odd("many_tools", f"count={MANY_TOOLS - 2}", name="many")
    contenders.append(
        Growth(f"1 server with {MANY_TOOLS} tools, warm = 0", {"many": many.entry(warm=0)}, MANY_TOOLS, options)
    )
    options.progress.begin("growth of our process", len(contenders) * (LEAST_ROUNDS + 1))
    series = await interleave(contenders, LEAST_ROUNDS, options.progress.advance)
    ordered = {label: series[label] for label in (IMPORTED, SDK, *(one.label for one in contenders))}
    note = (
        "Each in a new process. `N servers` is beyond bridge and SDK imported. max_tools is raised: its default is 128."
    )
    return Section("Growth of our own process", (_table("MiB", ordered),), notes=(note,))


def _table(title: str, series: AllSeries) -> Table:
    return Table(title, ("what", "n", "median", "p90", "least"), tuple(_row(one) for one in series.values()))


def _row(one: Series) -> tuple[str, ...]:
    return (one.label, str(one.n), *(f"{value / MIB:.2f}" for value in (one.median, one.p90, one.least)))
