"""What is left after a thousand calls, among them cancelled ones and servers that end badly."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from .children import run_child
from .memory import MIB
from .options import Options
from .report import Goal, Section, Table

CALLS, CANCELLED, BAD, WARM_UP = 1000, 200, 100, 200
QUICK_CALLS, QUICK_CANCELLED, QUICK_BAD, QUICK_WARM_UP = 50, 10, 6, 20
RSS_LIMIT_MIB = 2.0
COUNTED = ("children", "strays", "descriptors", "tasks", "threads")


async def leaks(options: Options) -> AsyncIterator[Section]:
    """Count what is left, with sessions opened for each call: nothing may grow."""
    sizes = (CALLS, CANCELLED, BAD, WARM_UP)
    if options.quick:
        sizes = (QUICK_CALLS, QUICK_CANCELLED, QUICK_BAD, QUICK_WARM_UP)
    calls, cancelled, bad, warm_up = sizes
    tables, goals = [], []
    for warm in (0, 1):
        job = {
            "calls": calls,
            "cancelled": cancelled,
            "bad": bad,
            "warm_up": warm_up,
            "warm": warm,
            "data_dir": str(options.data_dir("leaks")),
        }
        options.progress.begin(f"leaks, warm = {warm}", calls + bad + warm_up + max(bad * warm_up // calls, 4))
        counts = await run_child("child_leaks", job, options.progress.advance)
        tables.append(_table(f"warm = {warm}", counts))
        goals.extend(_goals(warm, calls + bad, counts))
    note = (
        f"Fresh sessions: {warm_up} calls of the same mixture to warm up; then {calls} on the minimal server,"
        f" {cancelled} of them cancelled"
        f" half-way, and among them {bad} on servers that ignore the end of their input or leave a helper process."
    )
    what = (
        "`children` are all processes below ours (with the guardian and the spares), `strays` are processes that a"
        " server left behind outside of that tree. With spares, their number at rest may differ by a few."
    )
    yield Section("Leaks", tuple(tables), tuple(goals), (note, what))


def _table(title: str, counts: dict[str, dict[str, Any]]) -> Table:
    rows = tuple(
        (moment, *(str(count[what]) for what in COUNTED), f"{count['rss'] / MIB:.2f}")
        for moment, count in counts.items()
    )
    return Table(title, ("moment", *COUNTED, "RSS MiB"), rows)


def _goals(warm: int, calls: int, counts: dict[str, dict[str, Any]]) -> list[Goal]:
    first, last = counts["warmed up"], counts["after all calls"]
    before, closed = counts["before"], counts["closed"]
    grown = (last["rss"] - first["rss"]) / MIB
    return [
        Goal(f"leaks, warm = {warm}: growth of RSS after the warm-up", grown, RSS_LIMIT_MIB, "MiB", calls),
        *(
            Goal(f"leaks, warm = {warm}: {what} more than after the warm-up", last[what] - first[what], 0, n=calls)
            for what in COUNTED
        ),
        *(
            Goal(f"leaks, warm = {warm}: {what} left after close", closed[what] - before[what], 0, n=calls)
            for what in COUNTED
        ),
    ]
