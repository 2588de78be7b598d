"""How much memory processes take."""

from __future__ import annotations

import contextlib
import gc

import psutil

MIB = 2**20


def own_rss() -> int:
    """Return the resident bytes of this process, with nothing left to be collected."""
    gc.collect()
    return int(psutil.Process().memory_info().rss)


def tree(pid: int) -> list[psutil.Process]:
    """Return a process and all below it."""
    root = psutil.Process(pid)
    return [root, *root.children(recursive=True)]


def tree_rss(pid: int) -> int:
    """Return the resident bytes of a process and all below it; what they share counts in each."""
    total = 0
    for process in tree(pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total


def tree_uss(pid: int) -> int:
    """Return the bytes that would be free again if a process and all below it ended."""
    total = 0
    for process in tree(pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            total += process.memory_full_info().uss
    return total
