"""The misbehaving servers on threads of this process, behind the product's own `StdioChannel`.

A test without the mark `process` gets its servers here: what they write goes through memory instead of pipes; line
reader, filter and session are those of the product. Modes that do something to a process of their own still need one.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import queue
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from mcp_bridge.text.cleaning import clean_label, decoded
from mcp_bridge.transport.stdio.channel import StdioChannel, open_stdio
from mcp_bridge.transport.stdio.launch import Launch
from tests.support.places import ODD_SERVER, SERVERS
from tests.support.processes import IN_MEMORY

sys.path.append(str(SERVERS))  # the servers import each other as the scripts that they are
if TYPE_CHECKING:
    from tests.servers import catalogue, wire
else:
    catalogue, wire = import_module("catalogue"), import_module("wire")

NEED_A_PROCESS = ("modes_process", "modes_stderr", "modes_helpers", "modes_leaks", "modes_security")
"""Modes that fork, close descriptors, read their environment, or write bytes to standard error that matter."""
PIPE_BYTES = 2**20
"""So much may be written before it is read, as with a pipe."""
END_SECONDS = 0.5
"""How long a server may take to end after the end of its input."""
_pids = itertools.count(10_000_000)  # larger than those of any system
_here = threading.local()
"""Holds as `process` the server that a thread belongs to."""


class MemoryProcess:
    """A server on a thread, with the methods of `ServerProcess` that a channel uses, and the server's own channel."""

    def __init__(self, words: list[str], environ: dict[str, str]) -> None:
        self.pid = next(_pids)
        self.on_stderr_line: Callable[[str], None] = lambda line: None
        self.returncode: int | None = None
        self._loop = asyncio.get_running_loop()
        self._readable = asyncio.Event()
        self._ended = asyncio.Event()
        self._input: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._output = bytearray()
        self._errors = b""
        self._room = threading.Condition()
        self._writing = threading.Lock()  # messages of several threads do not mix
        IN_MEMORY[self.pid] = self.end
        self.spawn(self._run, words, environ)

    # --- for the bridge ---

    async def read(self) -> bytes:
        while True:
            with self._room:
                data = bytes(self._output)
                self._output.clear()
                self._readable.clear()
                self._room.notify_all()
                over = self.returncode is not None
            if data or over:
                return data
            await self._readable.wait()

    async def write(self, data: bytes) -> None:
        if self.returncode is not None:
            raise BrokenPipeError("the server's input is closed")
        self._input.put(data)

    async def wait_exit(self, seconds: float) -> bool:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._ended.wait(), seconds)
        return self.returncode is not None

    def describe_end(self) -> str:
        if self.returncode is None:
            text = "its output ended"
        elif self.returncode < 0:
            text = f"killed by {signal.Signals(-self.returncode).name}"
        else:
            text = f"exit status {self.returncode}"
        words = [clean_label(decoded(line)) for line in self._errors.splitlines() if line.strip()]
        return f"{text}: {words[-1]}" if words else text

    async def stop(self) -> None:
        self._input.put(None)
        try:
            await self.wait_exit(END_SECONDS)
        finally:
            self.end(-signal.SIGTERM)

    # --- for the server ---

    def deliver(self, data: bytes, chunks: Iterable[bytes], related: object, final: bool) -> None:
        self._write(chunks)

    def write_raw(self, *chunks: bytes) -> None:
        self._write(chunks)

    def complain(self, data: bytes) -> None:
        self._errors += data

    def _write(self, chunks: Iterable[bytes]) -> None:
        with self._writing:
            for chunk in chunks:  # one by one: a mode may pause between two
                with self._room:
                    self._room.wait_for(lambda: len(self._output) < PIPE_BYTES or self.returncode is not None)
                    self.check()
                    self._output += chunk
                self._wake(self._readable)

    def spawn(self, function: Callable[..., object], *arguments: Any) -> None:
        """Run a function on a thread that belongs to the server and ends quietly with it."""

        def run() -> None:
            _here.process = self
            with contextlib.suppress(SystemExit):
                function(*arguments)

        threading.Thread(target=run, name="test server", daemon=True).start()

    def check(self) -> None:
        """End the thread that calls this if its server has ended."""
        if self.returncode is not None:
            raise SystemExit

    def end(self, status: int) -> None:
        with self._room:
            if self.returncode is not None:
                return
            self.returncode = status
            self._room.notify_all()
        IN_MEMORY.pop(self.pid, None)
        self._input.put(None)
        self._wake(self._ended)
        self._wake(self._readable)

    def _wake(self, event: asyncio.Event) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits any more
            self._loop.call_soon_threadsafe(event.set)

    def _run(self, words: list[str], environ: dict[str, str]) -> None:
        """Be the server."""
        options = wire.parse_options(words[2:])
        log = _Log(options.get("log") or environ.get("ODD_LOG"), self)
        try:
            log("start", argv=words)
            server = catalogue.create(catalogue.named(words[1], environ), options, _Output(self), log)
            server.spawn = self.spawn
            catalogue.serve(server, self._lines())
        except SystemExit as leaving:
            self.end(leaving.code if isinstance(leaving.code, int) else 0)
        except Exception as error:  # the last line of its traceback
            self.complain(f"{type(error).__name__}: {error}\n".encode())
            self.end(1)
        self.end(0)

    def _lines(self) -> Iterator[bytes]:
        while (data := self._input.get()) is not None:
            yield from data.splitlines(keepends=True)


class _Output:
    """The server's channel, a `Channel` of `tests/servers/wire.py`."""

    def __init__(self, process: MemoryProcess) -> None:
        self.deliver = process.deliver
        self.write = process.write_raw


class _Log(wire.Log):
    """The log of one server; what logs after the server's end ends itself."""

    def __init__(self, path: str | None, process: MemoryProcess) -> None:
        super().__init__(path)
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def __call__(self, event: str, **fields: Any) -> None:
        self._process.check()
        super().__call__(event, **fields)

    def leave(self, status: int) -> NoReturn:
        self("exit", status=status)
        self._process.end(status)
        raise SystemExit(status)


def _write_all(descriptor: int, data: bytes) -> None:
    assert descriptor == 2, "writes to a descriptor of its own: needs a process"
    _here.process.complain(data)


wire.write_all = _write_all
_kill = os.kill


def kill(pid: int, number: int) -> None:
    """Do what `os.kill` does, for servers in memory too; one that kills its own process means itself."""
    own = getattr(_here, "process", None)
    if own is not None and pid == os.getpid():
        pid = own.pid
    if pid not in IN_MEMORY:
        _kill(pid, number)
        return
    IN_MEMORY[pid](-number)
    if own is not None:
        own.check()


@asynccontextmanager
async def open_in_memory(server: str, launch: Launch, **options: Any) -> AsyncIterator[StdioChannel]:
    """Do what `open_stdio` does, without a process where the server is a misbehaving one that needs none."""
    if not _fits_in_memory(launch):
        async with open_stdio(server, launch, **options) as channel:
            yield channel
        return
    running: Any = MemoryProcess(list(launch.args), dict(launch.env))
    try:
        yield StdioChannel(server, running, options["limit"], options["redact"])
    finally:
        await running.stop()


def _fits_in_memory(launch: Launch) -> bool:
    if launch.args[:1] != (str(ODD_SERVER),) or len(launch.args) < 2:
        return False
    mode = catalogue.find(catalogue.named(launch.args[1], launch.env))
    return mode is None or mode.__module__ not in NEED_A_PROCESS
