"""One run from the first start to the last count."""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from mcp_bridge.bridge.thread import BridgeThread
from mcp_bridge.config.bridge_config import parse_config

from .callers import Callers
from .fleet import Fleet
from .judge import Judge
from .listening import listening
from .load import Load
from .memory import Memory
from .options import Options
from .pulse import Pulse
from .remains import Remains
from .report import Report
from .trouble import Remotes, Trouble

LOOK_SECONDS, LINE_SECONDS = 2.0, 60.0
MOST_SAMPLES = 60
"""A sample takes some seconds, in which no calls are made."""
START_SECONDS = 60.0
REST_SECONDS = 15.0
"""How long the last processes may take to be gone."""


async def run(options: Options) -> Report:
    """Make the calls and the trouble for as long as asked; return the report."""
    mark = secrets.token_hex(4)
    pulse, memory, load = Pulse(), Memory(), Load(options.cores)
    judge = Judge(lambda: pulse.steady)
    report = Report(options, judge, memory, pulse, {})
    remotes = Remotes(mark)
    with tempfile.TemporaryDirectory(prefix="mcp-bridge-soak-") as scratch, listening(judge):
        data_dir = Path(scratch, "data")
        await asyncio.to_thread(_rehearse, Fleet(mark), data_dir)
        before = Remains.take(mark, data_dir)
        try:
            for name in Fleet.names():
                if name.endswith("_http"):
                    remotes.start(name)
            callers = Callers(judge, load, random.Random(options.seed), mark)
            fleet = Fleet(mark, remotes.ports)
            trouble = Trouble(judge, callers, random.Random(options.seed + 1), fleet, data_dir)
            await _live(report, load, callers, trouble, remotes)
            await trouble.close()
        finally:
            remotes.close()
        report.finish(before, await _at_rest(before, mark, data_dir))
    return report


async def _live(report: Report, load: Load, callers: Callers, trouble: Trouble, remotes: Remotes) -> None:
    """Run everything concurrently until the time is up or an interrupt arrives."""
    started = asyncio.get_running_loop().time()
    trouble.reload()
    calling = asyncio.create_task(callers.run(report.options.chats), name="callers")
    works = trouble.kill(remotes.pids), trouble.edit(), remotes.keep(), load.run(), report.pulse.run()
    watch = _watch(report, load, callers, trouble)
    beside: list[asyncio.Task[Any]] = [asyncio.create_task(one) for one in (*works, watch)]
    try:
        with _interruption() as interrupted:
            beside.append(asyncio.create_task(interrupted.wait()))
            limit = report.options.seconds
            await asyncio.wait({calling, *beside}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
    finally:
        report.seconds = asyncio.get_running_loop().time() - started
        callers.stop()
        for task in beside:
            task.cancel()
        for ended in await asyncio.gather(calling, *beside, return_exceptions=True):
            if isinstance(ended, Exception):
                report.judge.fault(f"the soak itself failed: {ended!r}")
        await trouble.hold()
        report.memory.sample(report.seconds)


async def _watch(report: Report, load: Load, callers: Callers, trouble: Trouble) -> None:
    """Print the progress and sample the memory at rest, until cancelled."""
    loop = asyncio.get_running_loop()
    started, printed, shown, sampled = loop.time(), 0.0, 0, 0.0
    sample_seconds = max(LINE_SECONDS, report.options.seconds / MOST_SAMPLES)
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        kills = sum(trouble.counts.values())
        report.troubles = {**trouble.counts, "kills": kills, "generations": trouble.generation}
        for fault in report.judge.faults[shown:]:
            print(f"FAULT: {fault}", file=sys.stderr, flush=True)
        shown = len(report.judge.faults)
        if loop.time() - started - printed < LINE_SECONDS:
            continue
        now = printed = loop.time() - started
        print(report.line(now, load.used, len(psutil.Process().children(recursive=True))), flush=True)
        if now - sampled < sample_seconds:
            continue
        sampled = now
        await callers.hold()
        await trouble.hold()
        report.memory.sample(now)
        callers.go()
        trouble.go()


@contextlib.contextmanager
def _interruption() -> Iterator[asyncio.Event]:
    """Yield an event that SIGINT and SIGTERM set (not on Windows): the table is printed after an interrupt, too."""
    loop, event = asyncio.get_running_loop(), asyncio.Event()
    numbers = (signal.SIGINT, signal.SIGTERM) if sys.platform != "win32" else ()
    for number in numbers:
        loop.add_signal_handler(number, event.set)
    try:
        yield event
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


async def _at_rest(before: Remains, mark: str, data_dir: Path) -> Remains:
    """Return what is left once the system has reaped the last processes, or after `REST_SECONDS`."""
    loop = asyncio.get_running_loop()
    await loop.shutdown_default_executor()
    deadline = loop.time() + REST_SECONDS
    while (left := Remains.take(mark, data_dir)).beyond(before) and loop.time() < deadline:
        await asyncio.sleep(0.2)
    return left


def _rehearse(fleet: Fleet, data_dir: Path) -> None:
    """Run a bridge once, so that what is loaded only once counts as present before the run."""
    entries = {name: entry for name, entry in fleet.plain().items() if name.endswith("_direct")}
    bridge = BridgeThread(parse_config({"mcp": {"servers": entries}}), data_dir=data_dir)
    bridge.start()
    bridge.wait_ready(START_SECONDS)
    bridge.close_soon()
    bridge.join(START_SECONDS)
