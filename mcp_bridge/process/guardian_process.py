"""The guardian: ends the servers of a bridge whose own process is gone.

Run as a script of its own (standard library only, no imports from here), with the pid of
the parent and a marker as arguments. The parent writes `+<group>` and `-<group>` lines for
each process group that it starts and ends. When the parent dies, even by SIGKILL, the
groups still listed are ended, and so is every process that carries the marker in its
environment: helpers that left their group.
"""

import contextlib
import os
import select
import signal
import sys
import time

POLL_SECONDS = 1.0
"""How often the parent's pid is checked: a fork of the parent can keep the pipe open."""
TERM_SECONDS = 2.0
"""How long a group may take to end after SIGTERM before it gets SIGKILL."""


def main(parent: int, marker: str) -> None:
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # meant for the bot: we outlive it, by seconds
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    groups = watch(parent)
    signal_all(groups, marker, signal.SIGTERM)
    deadline = time.monotonic() + TERM_SECONDS
    while time.monotonic() < deadline and signal_all(groups, marker, 0):
        time.sleep(0.05)
    signal_all(groups, marker, signal.SIGKILL)


def watch(parent: int) -> set[int]:
    """Follow the parent's lines until it is gone; return the groups it left behind."""
    groups: set[int] = set()
    buffer = b""
    while os.getppid() == parent:
        ready, _, _ = select.select([0], [], [], POLL_SECONDS)
        if not ready:
            continue
        data = os.read(0, 65536)
        if not data:
            break
        *lines, buffer = (buffer + data).split(b"\n")
        for line in lines:
            with contextlib.suppress(ValueError):
                (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
    return groups


def signal_all(groups: set[int], marker: str, number: int) -> int:
    """Signal every group and every marked process; return how many there were."""
    found = 0
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, number)
            found += 1
    for pid in marked(marker):
        with contextlib.suppress(OSError):
            os.kill(pid, number)
            found += 1
    return found


def marked(marker: str) -> list[int]:
    """Return the processes whose environment holds the marker (Linux; elsewhere none)."""
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as stream:
                    if marker.encode() in stream.read():
                        found.append(int(name))
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
