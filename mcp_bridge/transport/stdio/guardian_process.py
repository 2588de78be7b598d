"""The guardian: ends the servers of a bridge whose own process is gone, and helpers that outlive their server.

Run as a script of its own (standard library only, no imports from here), with the pid of the parent and a
mark `NAME=value` as arguments. The parent writes a line `+<group>` or `-<group>` for each process group that
it starts or ends. When the parent dies, even by SIGKILL, the groups still listed are ended, and so is every
process that has the mark in its environment: helpers that left their group.

The environment of a server holds `NAME=value-<number>`, and the parent writes `.<number>` when that server is
gone: processes that still have this mark are ended then, not only with the bridge. Each call may have a server
of its own, so their helpers would pile up.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable

POLL_SECONDS = 1.0
"""How often the parent's pid is checked: a fork of the parent can keep the pipe open."""
TERM_SECONDS = 2.0
"""How long a group may take to end after SIGTERM before it gets SIGKILL."""
KILL_SECONDS = 2.0
"""How long SIGKILL is repeated: a process that forks between two looks is found by the next one."""
SWEEP_SECONDS = 1.0
"""The least time between two searches of all processes. The first sends SIGTERM, the next ones SIGKILL."""
SWEEPS = (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL)


def main(parent: int, mark: str) -> None:
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # meant for the bot: we outlive it, by seconds
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    groups = watch(parent, mark)
    signal_all(groups, mark, signal.SIGTERM)
    wait_none(groups, mark, 0, TERM_SECONDS)
    wait_none(groups, mark, signal.SIGKILL, KILL_SECONDS)


def watch(parent: int, mark: str) -> set[int]:
    """Follow the parent's lines until it is gone; return the groups it left behind."""
    groups: set[int] = set()
    ended: dict[str, int] = {}  # mark of an ended server -> how often its helpers were searched for
    swept_at = -SWEEP_SECONDS
    buffer = b""
    while os.getppid() == parent:
        due = swept_at + SWEEP_SECONDS - time.monotonic() if ended else POLL_SECONDS
        ready, _, _ = select.select([0], [], [], min(max(due, 0), POLL_SECONDS))
        if ready:
            data = os.read(0, 65536)
            if not data:
                break
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                take(line.decode("ascii", "replace"), groups, ended, mark)
        if ended and time.monotonic() >= swept_at + SWEEP_SECONDS:
            sweep(ended)
            swept_at = time.monotonic()
    return groups


def take(line: str, groups: set[int], ended: dict[str, int], mark: str) -> None:
    """Act on one line of the parent."""
    with contextlib.suppress(ValueError):
        number = int(line[1:])
        match line[:1]:
            case "+":
                groups.add(number)
            case "-":
                groups.discard(number)
            case ".":
                ended[f"{mark}-{number}"] = 0


def sweep(ended: dict[str, int]) -> None:
    """End the helpers of servers that are gone; forget servers that have none left."""
    left = set()
    for pid, mark in marked(lambda entry: entry in ended):
        left.add(mark)
        with contextlib.suppress(OSError):
            os.kill(pid, SWEEPS[min(ended[mark], len(SWEEPS) - 1)])
    for mark in list(ended):
        ended[mark] += 1
        if mark not in left or ended[mark] > len(SWEEPS):
            del ended[mark]


def wait_none(groups: set[int], mark: str, number: int, seconds: float) -> None:
    """Signal all of them repeatedly until none is left or `seconds` have passed."""
    deadline = time.monotonic() + seconds
    while signal_all(groups, mark, number) and time.monotonic() < deadline:
        time.sleep(0.05)


def signal_all(groups: set[int], mark: str, number: int) -> int:
    """Signal every group and every marked process; return how many there were."""
    found = 0
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, number)
            found += 1
    for pid, _ in marked(lambda entry: entry == mark or entry.startswith(mark + "-")):
        with contextlib.suppress(OSError):
            os.kill(pid, number)
            found += 1
    return found


def marked(is_mark: Callable[[str], bool]) -> list[tuple[int, str]]:
    """Return pid and mark of each process with a matching mark in its environment (Linux only, else none)."""
    found: list[tuple[int, str]] = []
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as stream:
                    entries = stream.read().decode("utf-8", "replace").split("\0")
                    found.extend((int(name), entry) for entry in entries if is_mark(entry))
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
