"""The start of a process on a thread of its own (POSIX).

A process made with `vfork`, as `subprocess` does, begins on the processor of the thread that made it. Were that
the loop's thread, the two would share it: with two processors (Linux 6.18), 0.7 ms of work of ours right after
the start, which is what making the session takes, delayed a server by as much; from another thread, by nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import IO

from .launch import Launch

KILL_SECONDS = 1.0
"""How long the system may take to bury a process after SIGKILL."""


async def spawn(launch: Launch) -> subprocess.Popen[bytes]:
    """Start a process that leads a group of its own, its pipes unbuffered.

    Raises `OSError` or `ValueError` if the system refuses. If cancelled, nothing of it is left.
    The threads of the loop itself are not asked: the bot's own work may keep all of them for minutes.
    """
    pool = ThreadPoolExecutor(1, "mcp start")
    try:
        begun = pool.submit(_popen, launch)
    except RuntimeError:  # the system gives us no thread: better a short halt than no server
        return _popen(launch)
    finally:
        pool.shutdown(wait=False)  # the thread ends with this start
    started = asyncio.wrap_future(begun)
    try:
        return await asyncio.shield(started)
    except asyncio.CancelledError:
        # What has begun cannot be stopped half-way; it takes milliseconds, and we may be cancelled again meanwhile.
        started.add_done_callback(_discard)
        await asyncio.wait({started})
        raise


def discard(popen: subprocess.Popen[bytes], pipes: Iterable[IO[bytes] | None]) -> None:
    """End a process that nobody wants, and close these ends of its pipes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # gone already, as Linux and macOS say it
        os.killpg(popen.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        popen.wait(KILL_SECONDS)
    for pipe in pipes:
        if pipe is not None:
            pipe.close()


def _discard(started: asyncio.Future[subprocess.Popen[bytes]]) -> None:
    if not started.cancelled() and started.exception() is None:
        popen = started.result()
        discard(popen, (popen.stdin, popen.stdout, popen.stderr))


def _popen(launch: Launch) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [launch.program, *launch.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=launch.cwd,
        env=dict(launch.env),
        start_new_session=True,
        bufsize=0,
    )
