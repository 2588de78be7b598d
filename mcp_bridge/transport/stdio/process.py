"""A server's process: started without a shell, read without blocking, ended completely.

Ending takes these steps, each bounded: close stdin and wait `EOF_SECONDS`; SIGTERM to the
whole tree and wait `TERM_SECONDS`; SIGKILL. What the server started goes with it, also
when the server itself ended by its own will.

On POSIX the process is started with `subprocess` and its pipes are joined to the loop:
asyncio's own way depends on a child watcher that another plugin may have replaced, and
its `Process.wait()` hangs while a grandchild holds a pipe (Python 3.11 to 3.13).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable

from ...aio import wait_for_event
from ...text.cleaning import CUT_MARK, clean_label, decoded, truncate
from .launch import Launch
from .pipes import LoopPipes, PipeReader, PipeWriter
from .spawn import KILL_SECONDS, discard, spawn
from .tree import ProcessTree, new_group, process_tree

EOF_SECONDS = 2.0
"""How long a server may take to end after the end of its input (node servers: 0.35 s)."""
TERM_SECONDS = 1.5
"""How long it may take after SIGTERM."""
DRAIN_SECONDS = 0.2
"""How long output of a server that has exited is still awaited: a helper may hold the pipe."""
POLL_SECONDS = 0.02
"""How often an exit is looked for while one is expected."""
IDLE_POLL_SECONDS = 0.5
"""How often it is looked for otherwise, where the system cannot tell us."""
READ_BYTES = 256 * 1024
STDERR_TAIL_BYTES = 8 * 1024
STDERR_LINE_CHARS = 500


class ServerProcess:
    """One running server. Made by `start`; whoever starts it must await `stop`."""

    def __init__(
        self,
        pid: int,
        stdin: PipeWriter,
        stdout: PipeReader,
        stderr: PipeReader,
        poll: Callable[[], int | None],
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.pid = pid
        self.on_stderr_line: Callable[[str], None] = lambda line: None
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
        """Return the next bytes of stdout, b"" when there will be none any more."""
        return await self._stdout.read()

    async def write(self, data: bytes) -> None:
        """Write to stdin and wait until the pipe takes it. Raises `OSError` if it is closed."""
        if self._stdin.is_closing():
            raise BrokenPipeError("the server's input is closed")
        self._stdin.write(data)
        await self._stdin.drain()

    def describe_end(self) -> str:
        """Return how the process ended and the last thing it said, `exit status 3: no such table`."""
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
        """Wait for the process itself, not for its helpers; tell whether it has ended."""
        deadline = asyncio.get_running_loop().time() + seconds
        while self._poll() is None:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                return False
            await wait_for_event(self._exited, min(left, POLL_SECONDS))
        return True

    async def stop(self) -> None:
        """End the server and all it started. Takes 5 s at the most; if cancelled, kills at once."""
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
            # Bury it even if we are being cancelled: a killed process takes milliseconds.
            await asyncio.shield(asyncio.ensure_future(self._bury()))

    async def _bury(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()  # with their tracebacks they would keep us until the next full collection
        await self.wait_exit(KILL_SECONDS)
        self._stdout.close()
        self._stderr.close()
        self._close()
        self._tree.close()

    async def _wait_empty(self, seconds: float) -> None:
        deadline = asyncio.get_running_loop().time() + seconds
        while not self._tree.empty() and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(POLL_SECONDS)

    async def _watch_exit(self) -> None:
        """Notice the exit at once where the system tells (pidfd on Linux), else by looking."""
        with contextlib.suppress(OSError, AttributeError, NotImplementedError):
            await _pidfd_exit(self.pid)
        while self._poll() is None:
            await asyncio.sleep(IDLE_POLL_SECONDS)
        self._exited.set()
        await self._end_output()

    async def _end_output(self) -> None:
        """End the output of a server that has exited, though a helper may hold the pipe open."""
        while True:
            await asyncio.sleep(DRAIN_SECONDS)
            if not self._stdout.buffered:
                break
        self._tree.kill()
        self._stdout.close()
        self._stderr.close()

    async def _read_stderr(self) -> None:
        """Drain stderr for as long as it is open: a full pipe would stop the server."""
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
        begun = CUT_MARK if len(line) >= STDERR_TAIL_BYTES else ""  # a cut that is marked hides no secret from the mask
        text = truncate(clean_label(begun + decoded(line[-STDERR_TAIL_BYTES:])), STDERR_LINE_CHARS)
        if text:
            self._last_line = text
            self.on_stderr_line(text)


async def start(launch: Launch) -> ServerProcess:
    """Start a server. Raises `OSError` if the system refuses."""
    if sys.platform == "win32":
        return await start_by_loop(launch)
    return await _start_posix(launch)


async def _start_posix(launch: Launch) -> ServerProcess:
    popen = await spawn(launch)
    pipes = (popen.stdin, popen.stdout, popen.stderr)
    joined: list[PipeWriter | PipeReader] = []
    try:
        joined.append(stdin := await PipeWriter.open(popen.stdin))
        joined.append(stdout := await PipeReader.open(popen.stdout))
        joined.append(stderr := await PipeReader.open(popen.stderr))
    except BaseException:
        for end in joined:
            end.close()
        discard(popen, pipes[len(joined) + 1 :])  # the one in between is closed by the loop
        raise
    return ServerProcess(popen.pid, stdin, stdout, stderr, popen.poll)


async def start_by_loop(launch: Launch) -> ServerProcess:
    """Start a server the loop's own way: on Windows, where pipes can be read in no other."""
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
