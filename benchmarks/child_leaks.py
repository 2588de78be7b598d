"""Child: what is left in this process and below it after many calls, many of them ending badly."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
from array import array
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any

import psutil

from mcp_bridge.bridge.bridge import Bridge

from . import insight
from .children import tell
from .memory import own_rss
from .servers import config, odd

REST_SECONDS = 1.0
"""After the last session has gone: what a loop and its threads still have to do."""
SLEEP_SECONDS = 0.2
"""A cancelled call would have taken this long, and is cancelled half-way."""
AT_ONCE = 4
"""Calls that run at the same time."""
Calls = list[Callable[[], Awaitable[None]]]


@dataclass(frozen=True)
class Count:
    """What this process has at one moment. `strays` are processes that carry our mark and are not below us."""

    children: int
    strays: int
    descriptors: int
    tasks: int
    threads: int
    rss: int

    @classmethod
    def take(cls, mark: str) -> Count:
        me = psutil.Process()
        below = {child.pid for child in me.children(recursive=True)}
        return cls(
            children=len(below),
            strays=len(_marked(mark) - below),
            descriptors=me.num_fds() if hasattr(me, "num_fds") else me.num_handles(),
            tasks=len(asyncio.all_tasks()),
            threads=threading.active_count(),
            rss=own_rss(),
        )


def _marked(mark: str) -> set[int]:
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("MCP_BRIDGE_SESSION", "").startswith(mark):
                found.add(process.pid)
    return found


class Caller:
    """Makes the calls of this benchmark; a call that ends otherwise than it should stops the run."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._pids: dict[str, array[int]] = {}
        """Of all processes that have answered, by server; small, since our own memory is measured."""

    async def plain(self, server: str) -> None:
        result = await self._bridge.call(f"mcp_{server}_pid")
        former = self._pids.setdefault(server, array("l"))
        if result.is_error or not result.text.isdigit() or int(result.text) in former:
            raise SystemExit(f"{server} answered {result.text!r}")
        former.append(int(result.text))

    async def cancelled(self) -> None:
        call = asyncio.create_task(self._bridge.call("mcp_minimal_sleep", {"seconds": SLEEP_SECONDS}))
        await asyncio.sleep(SLEEP_SECONDS / 2)
        if not call.cancel():
            raise SystemExit(f"a call came back before it was cancelled: {call.result()}")
        await asyncio.wait({call})
        if not call.cancelled():
            raise SystemExit(f"a cancelled call gave {call.exception() or call.result()}")


async def many(calls: Calls) -> None:
    """Make calls, a few at a time, telling the parent of each."""
    waiting = iter(calls)

    async def work() -> None:
        for call in waiting:
            await call()
            tell(progress=1)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))


async def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Return the counts before the bridge, after the warm-up, after all calls, and after its end."""
    subjects = {
        "minimal": odd("normal", "tools=sleep"),
        "deaf": odd("ignore_eof", name="deaf"),
        "helper": odd("grandchild", name="helper"),
    }
    bridge = Bridge(
        config({name: subject.entry(warm=job["warm"]) for name, subject in subjects.items()}), data_dir=job["data_dir"]
    )
    mark = insight.marker(bridge)
    caller = Caller(bridge)
    counts = {"before": Count.take(mark)}
    await bridge.start()

    def plain(count: int, server: str = "minimal") -> Calls:
        calls: Calls = [lambda: caller.plain(server)]
        return calls * count

    def mixture(calls: int, cancelled: int, bad: int) -> Calls:
        """Interleaved, so that bad ends and ordinary calls meet."""
        ordinary = _mixed(plain(calls - cancelled), [caller.cancelled] * cancelled)
        return _mixed(ordinary, _mixed(plain(bad // 2, "deaf"), plain(bad - bad // 2, "helper")))

    # Warm up with everything that happens later: memory that is allocated only once is not growth.
    share = job["warm_up"] / job["calls"]
    await many(mixture(job["warm_up"], round(job["cancelled"] * share), max(round(job["bad"] * share), 4)))
    counts["warmed up"] = await _count_at_rest(bridge, mark)
    await many(mixture(job["calls"], job["cancelled"], job["bad"]))
    counts["after all calls"] = await _count_at_rest(bridge, mark)
    await bridge.close()
    await asyncio.get_running_loop().shutdown_default_executor()
    await asyncio.sleep(REST_SECONDS)
    counts["closed"] = Count.take(mark)
    return {moment: asdict(count) for moment, count in counts.items()}


def _mixed(many_calls: Calls, few: Calls) -> Calls:
    """Spread the fewer evenly among the more."""
    if len(many_calls) < len(few):
        many_calls, few = few, many_calls
    spread = list(many_calls)
    for number, call in enumerate(few):
        spread.insert((number + 1) * len(many_calls) // (len(few) + 1) + number, call)
    return spread


async def _count_at_rest(bridge: Bridge, mark: str) -> Count:
    """Count when only the spares are left."""
    await insight.at_rest(bridge)
    await asyncio.sleep(REST_SECONDS)
    await insight.at_rest(bridge)
    return Count.take(mark)


def main() -> None:
    tell(result=asyncio.run(measure(json.loads(sys.argv[1]))))


if __name__ == "__main__":
    main()
