"""Starts a process from a thread of its own (POSIX).

`subprocess` uses `vfork`, and a new process begins on the processor of the thread that made it. If that is the
loop's thread, the two compete: with two processors (Linux 6.18), the 0.7 ms that we need to set up the session
right after the start delayed the server by as much. From another thread there is no delay.
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
"""How long a process may take to exit after SIGKILL."""


async def spawn(launch: Launch) -> subprocess.Popen[bytes]:
    """Start a process that leads a group of its own, its pipes unbuffered.

    Raises `OSError` or `ValueError` if the system rejects it. If cancelled, the process is ended.
    The loop's own thread pool is not used: the bot's work may occupy all of its threads for minutes.
    """
    pool = ThreadPoolExecutor(1, "mcp start")
    try:
        begun = pool.submit(_popen, launch)
    except RuntimeError:  # no thread can be started: block the loop for a moment
        return _popen(launch)
    finally:
        pool.shutdown(wait=False)  # the thread ends with this start
    started = asyncio.wrap_future(begun)
    try:
        return await asyncio.shield(started)
    except asyncio.CancelledError:
        # A start cannot be interrupted. It takes milliseconds, during which we may be cancelled again.
        started.add_done_callback(_discard)
        await asyncio.wait({started})
        raise


def discard(popen: subprocess.Popen[bytes], pipes: Iterable[IO[bytes] | None]) -> None:
    """Kill a process that is not needed, and close these ends of its pipes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it has already exited (Linux, macOS)
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
