"""A server's process: started without a shell, read without blocking, ended completely.

It is ended in bounded steps: close stdin and wait `EOF_SECONDS`; SIGTERM to the whole tree and wait
`TERM_SECONDS`; SIGKILL. The processes that it started are ended as well, also if it has exited by itself.

On POSIX the process is started with `subprocess` and its pipes are connected to the loop: asyncio's
subprocesses depend on a child watcher that another plugin may have replaced, and `Process.wait()` hangs
while a grandchild holds a pipe open (Python 3.11 to 3.13).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Protocol

from ...aio import wait_for_event
from ...text.cleaning import CUT_MARK, clean_label, decoded, truncate
from .launch import Launch
from .pipes import LoopPipes, PipeReader, PipeWriter
from .spawn import KILL_SECONDS, discard, spawn
from .tree import ProcessTree, new_group, process_tree

EOF_SECONDS = 2.0
"""How long a server may take to exit after the end of its input (node servers: 0.35 s)."""
TERM_SECONDS = 1.5
"""How long it may take to exit after SIGTERM."""
DRAIN_SECONDS = 0.2
"""How long to wait for more output of a server that has exited: a helper may hold the pipe open."""
POLL_SECONDS = 0.02
"""How often to check for an exit that is expected."""
IDLE_POLL_SECONDS = 0.5
"""How often to check otherwise, where the system cannot notify us."""
READ_BYTES = 256 * 1024
STDERR_TAIL_BYTES = 8 * 1024
STDERR_LINE_CHARS = 500


class StderrListener(Protocol):
    """Is called with each line that a server writes to stderr. Must not block."""

    def __call__(self, line: str) -> None:
        """Take a line: cleaned, not masked, at most `STDERR_LINE_CHARS` characters."""


class ServerProcess:
    """One running server, made by `start`. The caller of `start` must await `stop`."""

    def __init__(
        self,
        pid: int,
        stdin: PipeWriter,
        stdout: PipeReader,
        stderr: PipeReader,
        poll: Callable[[], int | None],
        close: Callable[[], None] | None = None,
    ) -> None:
        self.pid = pid
        self.on_stderr_line: StderrListener | None = None
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        self._poll = poll
        self._close = close
        self._tree: ProcessTree = process_tree(pid)
        self._exited = asyncio.Event()
        self._last_line = ""
        self._tasks = [
            asyncio.create_task(self._watch_exit(), name=f"mcp exit of {pid}"),
            asyncio.create_task(self._read_stderr(), name=f"mcp stderr of {pid}"),
        ]

    @property
    def returncode(self) -> int | None:
        return self._poll()

    async def read(self) -> bytes:
        """Return the next bytes of stdout, b"" at its end."""
        return await self._stdout.read()

    async def write(self, data: bytes) -> None:
        """Write to stdin and wait until the pipe has room. Raises `OSError` if it is closed."""
        if self._stdin.is_closing():
            raise BrokenPipeError("the server's input is closed")
        self._stdin.write(data)
        await self._stdin.drain()

    def describe_end(self) -> str:
        """Return how the process ended, with its last line on stderr: `exit status 3: no such table`."""
        code = self.returncode
        if code is None:
            text = "its output ended"
        elif code < 0:
            with contextlib.suppress(ValueError):
                return self._with_last_line(f"killed by {signal.Signals(-code).name}")
            text = f"killed by signal {-code}"
        else:
            text = f"exit status {code}"
        return self._with_last_line(text)

    def _with_last_line(self, text: str) -> str:
        return f"{text}: {self._last_line}" if self._last_line else text

    async def wait_exit(self, seconds: float) -> bool:
        """Wait for the process itself, not for its helpers; return whether it has ended."""
        deadline = asyncio.get_running_loop().time() + seconds
        while self._poll() is None:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                return False
            await wait_for_event(self._exited, min(left, POLL_SECONDS))
        return True

    async def stop(self) -> None:
        """End the server and everything that it has started. Takes at most 5 s; if cancelled, kills at once."""
        try:
            self._stdin.close()
            if not await self.wait_exit(EOF_SECONDS):
                self._tree.interrupt()
                await self.wait_exit(TERM_SECONDS)
            elif not self._tree.empty():
                self._tree.interrupt()
                await self._wait_empty(POLL_SECONDS * 10)
        finally:
            self._tree.kill()
            for task in self._tasks:
                task.cancel()
            # Also if we are being cancelled: a killed process is gone within milliseconds.
            await asyncio.shield(asyncio.ensure_future(self._reap()))

    async def _reap(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()  # their tracebacks refer to us: only a full garbage collection would free us
        await self.wait_exit(KILL_SECONDS)
        self._stdout.close()
        self._stderr.close()
        if self._close is not None:
            self._close()
        self._tree.close()

    async def _wait_empty(self, seconds: float) -> None:
        deadline = asyncio.get_running_loop().time() + seconds
        while not self._tree.empty() and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(POLL_SECONDS)

    async def _watch_exit(self) -> None:
        """Notice the exit at once where the system notifies us (pidfd on Linux), else by polling."""
        with contextlib.suppress(OSError, AttributeError, NotImplementedError):
            await _pidfd_exit(self.pid)
        while self._poll() is None:
            await asyncio.sleep(IDLE_POLL_SECONDS)
        self._exited.set()
        await self._end_output()

    async def _end_output(self) -> None:
        """End the output of a server that has exited, even if a helper holds the pipe open."""
        while True:
            await asyncio.sleep(DRAIN_SECONDS)
            if not self._stdout.buffered:
                break
        self._tree.kill()
        self._stdout.close()
        self._stderr.close()

    async def _read_stderr(self) -> None:
        """Read stderr until it is closed: a full pipe would block the server."""
        tail = b""
        with contextlib.suppress(OSError, ValueError):
            while data := await self._stderr.read():
                *lines, tail = (tail + data).split(b"\n")
                tail = tail[-STDERR_TAIL_BYTES:]
                for line in lines:
                    self._take_line(line)
        if tail:
            self._take_line(tail)

    def _take_line(self, line: bytes) -> None:
        begun = CUT_MARK if len(line) >= STDERR_TAIL_BYTES else ""  # the redactor masks a cut secret only at a mark
        text = truncate(clean_label(begun + decoded(line[-STDERR_TAIL_BYTES:])), STDERR_LINE_CHARS)
        if text:
            self._last_line = text
            if self.on_stderr_line is not None:
                self.on_stderr_line(text)


async def start(launch: Launch) -> ServerProcess:
    """Start a server. Raises `OSError` or `ValueError` if the system rejects it."""
    if sys.platform == "win32":
        return await start_by_loop(launch)
    return await _start_posix(launch)


async def _start_posix(launch: Launch) -> ServerProcess:
    popen = await spawn(launch)
    pipes = (popen.stdin, popen.stdout, popen.stderr)
    connected: list[PipeWriter | PipeReader] = []
    try:
        connected.append(stdin := await PipeWriter.open(popen.stdin))
        connected.append(stdout := await PipeReader.open(popen.stdout))
        connected.append(stderr := await PipeReader.open(popen.stderr))
    except BaseException:
        for end in connected:
            end.close()
        discard(popen, pipes[len(connected) + 1 :])  # the loop closes the one that it failed to connect
        raise
    return ServerProcess(popen.pid, stdin, stdout, stderr, popen.poll)


async def start_by_loop(launch: Launch) -> ServerProcess:
    """Start a server as a subprocess of the event loop: on Windows its pipes can be read in no other way."""
    transport, pipes = await asyncio.get_running_loop().subprocess_exec(
        LoopPipes,
        launch.program,
        *launch.args,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=launch.cwd,
        env=dict(launch.env),
        **new_group(),
    )
    pid = transport.get_pid()
    return ServerProcess(pid, pipes.stdin, pipes.stdout, pipes.stderr, transport.get_returncode, close=transport.close)


async def _pidfd_exit(pid: int) -> None:
    """Wait until a process has exited. Raises `OSError` or `AttributeError` where pidfd is missing."""
    descriptor = os.pidfd_open(pid) if sys.platform == "linux" else -1
    if descriptor < 0:
        raise NotImplementedError("pidfd")
    loop = asyncio.get_running_loop()
    exited = asyncio.Event()
    try:
        loop.add_reader(descriptor, exited.set)
        await exited.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
