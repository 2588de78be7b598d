"""Which processes live."""

from __future__ import annotations

from collections.abc import Callable

import psutil

IN_MEMORY: dict[int, Callable[[int], None]] = {}
"""How to end each server that runs on threads of this process, by the process id that it goes by; see `memory`."""


def children() -> set[int]:
    """Return the living processes below this one, zombies included, and the servers in memory."""
    return {child.pid for child in psutil.Process().children(recursive=True)} | set(IN_MEMORY)


def alive(pid: int) -> bool:
    """Tell whether a process still runs; one that is dead and waits for its parent does not."""
    if pid in IN_MEMORY:
        return True
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
