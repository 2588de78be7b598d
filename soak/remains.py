"""What this process has, and what belongs to a run anywhere on the machine."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from dataclasses import dataclass, fields
from pathlib import Path

import psutil

from .fleet import MARK_VARIABLE


@dataclass(frozen=True)
class Remains:
    """Counts at one moment. `strays` carry the mark of the run and are not below us."""

    children: int
    strays: int
    descriptors: int
    tasks: int
    threads: int
    unfinished_files: int

    @classmethod
    def take(cls, mark: str, data_dir: Path) -> Remains:
        me = psutil.Process()
        below = {child.pid for child in me.children(recursive=True)}
        return cls(
            children=len(below),
            strays=len(marked(mark) - below),
            descriptors=me.num_fds() if hasattr(me, "num_fds") else me.num_handles(),
            tasks=len(asyncio.all_tasks()),
            threads=threading.active_count(),
            unfinished_files=len(list(data_dir.rglob(".new-*"))),
        )

    def beyond(self, before: Remains) -> dict[str, int]:
        """Return what there is more of than before."""
        now = {one.name: getattr(self, one.name) - getattr(before, one.name) for one in fields(self)}
        return {name: more for name, more in now.items() if more > 0}


def marked(mark: str) -> set[int]:
    """Return the living processes that carry the mark of a run in their environment."""
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK_VARIABLE) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.add(process.pid)
    return found
