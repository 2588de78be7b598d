"""Finding the tools of ten servers, slow ones and light ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from time import perf_counter

from mcp_bridge.bridge.bridge import Bridge
from mcp_bridge.transport.stdio.launch import Launch

from .children import run_child
from .discoveries import list_by_hand, list_with_sdk, list_with_sdk_in_turn
from .errors import BenchmarkError
from .options import Options
from .report import Goal, Ratio, Section, ratio_table, time_table
from .servers import Subject, config, odd
from .timing import Contender, interleave

SERVERS = 10
SLOW_LIMIT_SECONDS = 1.5
BRIDGE = "bridge"
BRIDGE_PROCESS = "bridge, in a new process"
SDK = "SDK, all at once"
SDK_IN_TURN = "SDK, one after the other"
SDK_PROCESS = "SDK, all at once, in a new process (imports the SDK)"
BY_HAND = "hand-written, all at once"

Listing = Callable[[Sequence[Launch], int], Awaitable[float]]


class _Discovery:
    """Base of the contenders; nothing is kept between samples."""

    def __init__(self, label: str, options: Options, subjects: Sequence[Subject]) -> None:
        self.label = label
        self._options = options
        self._subjects = subjects
        self._tools = sum(subject.tools for subject in subjects)

    async def open(self) -> None:
        pass

    async def settle(self) -> None:
        pass

    async def close(self) -> None:
        pass


class BridgeDiscovery(_Discovery):
    """Entering a bridge that has nothing stored, until all tools are there."""

    async def sample(self) -> dict[str, float]:
        servers = {subject.name: subject.entry() for subject in self._subjects}
        bridge = Bridge(config(servers), data_dir=self._options.data_dir("discovery"))
        began = perf_counter()
        await bridge.start()
        found = len(bridge.tools())
        took = perf_counter() - began
        await bridge.close()
        if found != self._tools:
            raise BenchmarkError(f"{found} tools were found instead of {self._tools}")
        return {self.label: took}


class ListingDiscovery(_Discovery):
    """Listing with another client."""

    def __init__(self, label: str, options: Options, subjects: Sequence[Subject], listing: Listing) -> None:
        super().__init__(label, options, subjects)
        self._listing = listing

    async def sample(self) -> dict[str, float]:
        launches = [subject.launch() for subject in self._subjects]
        began = perf_counter()
        return {self.label: await self._listing(launches, self._tools) - began}


class ChildDiscovery(_Discovery):
    """The same in a new process."""

    def __init__(self, label: str, options: Options, subjects: Sequence[Subject], way: str) -> None:
        super().__init__(label, options, subjects)
        self._way = way

    async def sample(self) -> dict[str, float]:
        job = {
            "way": self._way,
            "wait": True,
            "config": {"mcp": {"servers": {subject.name: subject.entry() for subject in self._subjects}}},
            "data_dir": str(self._options.data_dir("discovery")),
            "tools": self._tools,
        }
        return {self.label: (await run_child("child_start", job))["seconds"]}


async def discovery(options: Options) -> AsyncIterator[Section]:
    """Measure the discovery of ten slow and of ten light servers."""
    slow = [odd("slow_init", "delay=1", name=f"slow{number}") for number in range(SERVERS)]
    light = [odd("normal", name=f"light{number}") for number in range(SERVERS)]
    for kind, subjects, rounds in (("slow", slow, options.slow_rounds), ("light", light, options.some_rounds)):
        contenders: list[Contender] = [
            BridgeDiscovery(BRIDGE, options, subjects),
            ChildDiscovery(BRIDGE_PROCESS, options, subjects, "enter"),
            ListingDiscovery(SDK, options, subjects, list_with_sdk),
            ChildDiscovery(SDK_PROCESS, options, subjects, "sdk"),
            ListingDiscovery(SDK_IN_TURN, options, subjects, list_with_sdk_in_turn),
            ListingDiscovery(BY_HAND, options, subjects, list_by_hand),
        ]
        options.progress.begin(f"discovery: {kind}", len(contenders) * (rounds + 1))
        series = await interleave(contenders, rounds, options.progress.advance)
        series = {one.label: series[one.label] for one in contenders}
        ratios = [
            Ratio(BRIDGE, BY_HAND),
            Ratio(BRIDGE, SDK),
            Ratio(BRIDGE, SDK_IN_TURN),
            Ratio(BRIDGE_PROCESS, SDK_PROCESS),
        ]
        what = "that take 1 s to initialise" if kind == "slow" else "that start at once"
        goals = [
            Goal(f"{SERVERS} servers {what}: {label}", series[label].median, SLOW_LIMIT_SECONDS, "s", series[label].n)
            for label in (BRIDGE, BRIDGE_PROCESS)
            if kind == "slow"
        ]
        tables = (time_table("Time until all tools are there", series), ratio_table("Ratios", series, ratios))
        yield Section(f"Discovery of {SERVERS} servers {what}", tables, tuple(goals))
