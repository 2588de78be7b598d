"""The start of the bot: imports, and when its tools are there, with and without a stored catalogue."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from time import perf_counter
from typing import Any

from mcp_bridge.bridge.bridge import Bridge

from .children import run_child
from .errors import BenchmarkError
from .options import Options
from .report import Goal, Ratio, Section, ratio_table, time_table
from .servers import ODD_SERVER, ROOT, config
from .timing import Contender, Series, interleave

SERVERS = 10
MANY = 100
"""Tools of each server in the larger catalogue."""
LIMIT_SECONDS = 0.1
# The stored catalogue is found by command and arguments, without the values of `env`: so the
# same entry works while its tools are stored, and hangs when they are wanted.
_SWITCH = (
    "import os, sys; mode = os.environ['BENCH_MODE'].split(); "
    f"os.execv(sys.executable, [sys.executable, {str(ODD_SERVER)!r}, *mode])"
)
NORMAL, HANGING = "normal", "hang_init"
BARE = "python -c pass"
PACKAGE = "import mcp_bridge"
BRIDGE = "from mcp_bridge import Bridge, load_config"
THREAD = "from mcp_bridge.bridge.thread import BridgeThread"
SDK = "import mcp"


class Start:
    """One start in a new process that has imported the bridge and not the SDK."""

    def __init__(self, label: str, options: Options, way: str, *, stored: bool, tools: int = 2) -> None:
        self.label = label
        self._options = options
        self._way = way
        self._stored = stored
        self._tools = tools
        self._data_dir = Path()

    async def open(self) -> None:
        """Store the catalogue, with servers that work."""
        self._data_dir = self._options.data_dir("start")
        if self._stored:
            settings = self._settings(self._normal())
            checked = config(settings["servers"], max_tools=settings["max_tools"])
            async with Bridge(checked, data_dir=self._data_dir) as bridge:
                if len(bridge.tools()) != SERVERS * self._tools:
                    raise BenchmarkError(f"nothing to be stored: {bridge.status()}")
                await asyncio.sleep(0.5)  # the catalogue is written behind the caller's back

    async def sample(self) -> dict[str, float]:
        data_dir = self._data_dir if self._stored else self._options.data_dir("start")
        job = {
            "way": self._way,
            "wait": False,
            "config": {"mcp": self._settings(HANGING if self._stored else self._normal())},
            "data_dir": str(data_dir),
            "tools": SERVERS * self._tools,
        }
        return {self.label: (await run_child("child_start", job))["seconds"]}

    async def settle(self) -> None:
        pass

    async def close(self) -> None:
        pass

    def _normal(self) -> str:
        return NORMAL if self._tools == 2 else f"many_tools count={self._tools - 2}"

    def _settings(self, mode: str) -> dict[str, Any]:
        entry = {"command": sys.executable, "args": ["-c", _SWITCH], "env": {"BENCH_MODE": mode}}
        return {"servers": {f"server{number}": entry for number in range(SERVERS)}, "max_tools": 100_000}


class Import:
    """A new interpreter that runs one statement and ends."""

    def __init__(self, label: str, statement: str) -> None:
        self.label = label
        self._statement = statement

    async def open(self) -> None:
        pass

    async def sample(self) -> dict[str, float]:
        began = perf_counter()
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", self._statement, cwd=ROOT)
        if await process.wait():
            raise BenchmarkError(f"{self._statement} failed")
        return {self.label: perf_counter() - began}

    async def settle(self) -> None:
        pass

    async def close(self) -> None:
        pass


async def start(options: Options) -> AsyncIterator[Section]:
    """Measure starts and imports."""
    yield await _starts(options)
    yield await _imports(options)


async def _starts(options: Options) -> Section:
    small, large = SERVERS * 2, SERVERS * MANY
    stored = [
        Start(f"BridgeThread.start(), {small} stored tools, servers hang", options, "thread", stored=True),
        Start(f"Bridge(wait=False), {small} stored tools, servers hang", options, "enter", stored=True),
        Start(f"BridgeThread.start(), {large} stored tools, servers hang", options, "thread", stored=True, tools=MANY),
    ]
    without = [
        Start(f"BridgeThread.start(), nothing stored, {small} tools of light servers", options, "thread", stored=False)
    ]
    contenders: list[Contender] = [*stored, *without]
    rounds = options.some_rounds
    options.progress.begin("start", len(contenders) * (rounds + 1))
    series = await interleave(contenders, rounds, options.progress.advance)
    series = {one.label: series[one.label] for one in contenders}
    goals = [
        Goal(f"start: {one.label}", series[one.label].median, LIMIT_SECONDS, "s", series[one.label].n) for one in stored
    ]
    note = "In a new process that has imported mcp_bridge and not the SDK (checked)."
    table = time_table(f"Time until tools() is complete, {SERVERS} servers", series)
    return Section("Start with and without the stored catalogue", (table,), tuple(goals), (note,))


async def _imports(options: Options) -> Section:
    contenders: list[Contender] = [Import(BARE, "pass"), *(Import(one, one) for one in (PACKAGE, BRIDGE, THREAD, SDK))]
    options.progress.begin("imports", len(contenders) * (options.some_rounds + 1))
    series = await interleave(contenders, options.some_rounds, options.progress.advance)
    series = {one.label: series[one.label] for one in contenders}
    bare = series[BARE].values
    added = {}
    for label in (PACKAGE, BRIDGE, THREAD, SDK):
        name = f"{label}, beyond bare Python"
        pairs = zip(series[label].values, bare, strict=True)
        added[name] = Series(name, [one - nothing for one, nothing in pairs])
    tables = (
        time_table("A new interpreter, from start to end", {**series, **added}),
        ratio_table("Ratios", series, [Ratio(BRIDGE, SDK)]),
    )
    return Section("Import time", tables)
