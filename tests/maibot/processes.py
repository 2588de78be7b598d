"""Find and end processes through /proc: a test must neither miss nor leave one.

A process that lost its parent is no longer below the bot in the tree, so the
tree alone is not enough. Whatever was started from an instance also carries the
instance's path in its environment, working directory or arguments.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

PROC = Path("/proc")

POLL_SECONDS = 0.05
"""Pause between two looks of `wait_for`."""

KILL_SECONDS = 10.0
"""Longest wait for processes to vanish after SIGKILL."""


def wait_for(look: Callable[[], T], seconds: float) -> T:
    """Call `look` until its answer is true or `seconds` have passed; return the last answer."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found or time.monotonic() >= deadline:
            return found
        time.sleep(POLL_SECONDS)


def _read(pid: int, name: str) -> bytes:
    """Read one file of a process; nothing when it is gone or not ours to see."""
    try:
        return (PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""


def _working_directory(pid: int) -> str:
    try:
        return os.readlink(PROC / str(pid) / "cwd")
    except OSError:
        return ""


def _pids() -> list[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]


def _status(pid: int) -> tuple[str, int]:
    """Return state letter and parent; the name before them may itself hold spaces and parentheses."""
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return (fields[0].decode(), int(fields[1])) if len(fields) > 1 else ("X", 0)


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; a zombie does not."""
    return _status(pid)[0] not in "ZX"


def command_line(pid: int) -> str:
    """Return the arguments of a process joined with spaces, or nothing when it is gone."""
    return _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()


def environment(pid: int) -> dict[str, str]:
    """Return the environment a process was started with."""
    entries = _read(pid, "environ").decode(errors="replace").split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def descendants(root: int) -> list[int]:
    """Return the living processes below `root`, children before grandchildren."""
    children: dict[int, list[int]] = {}
    for pid in _pids():
        state, parent = _status(pid)
        if state not in "ZX":
            children.setdefault(parent, []).append(pid)
    found: list[int] = []
    level = children.get(root, [])
    while level:
        found += level
        level = [child for pid in level for child in children.get(pid, [])]
    return found


def with_argument(text: str) -> list[int]:
    """Return the living processes, this one left out, whose arguments contain `text`."""
    return [pid for pid in _pids() if pid != os.getpid() and text in command_line(pid)]


def of_folder(folder: Path) -> list[int]:
    """Return the living processes with `folder` in environment, working directory or arguments."""
    path = str(folder)

    def belongs(pid: int) -> bool:
        return (
            path in command_line(pid)
            or path in environment(pid).values()
            or Path(_working_directory(pid)).is_relative_to(folder)
        )

    return [pid for pid in _pids() if pid != os.getpid() and is_alive(pid) and belongs(pid)]


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to processes, some of which may be gone already."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def kill_all(find: Callable[[], list[int]]) -> None:
    """Kill what `find` returns until it returns nothing; a dying process may start another.

    Raises RuntimeError when something survives `KILL_SECONDS`.
    """

    def killed() -> bool:
        pids = find()
        send(pids, signal.SIGKILL)
        return not pids

    if not wait_for(killed, KILL_SECONDS):
        raise RuntimeError(f"processes survived SIGKILL: {find()}")
