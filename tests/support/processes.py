"""Which processes live."""

from __future__ import annotations

import psutil


def children() -> set[int]:
    """Return the living processes below this one, zombies included."""
    return {child.pid for child in psutil.Process().children(recursive=True)}


def alive(pid: int) -> bool:
    """Tell whether a process still runs; one that is dead and waits for its parent does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
