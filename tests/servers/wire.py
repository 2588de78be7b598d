"""Bytes in, bytes out, and the log that tells a test what the client did.

Start-up time matters here (a suite starts these servers hundreds of times), so modules import little:
`typing` and `dataclasses` alone would cost more than everything below.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time

TYPE_CHECKING = False  # type checkers take this name as true; saves importing `typing` at run time
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, NoReturn, Protocol, TypeAlias

    Message: TypeAlias = dict[str, Any]

    class Channel(Protocol):
        """Where a server's messages go: a pipe, or the streams of an HTTP session."""

        def deliver(self, data: bytes, chunks: Iterable[bytes], related: object, final: bool) -> None:
            """Send one encoded message.

            `data` is the JSON, `chunks` the same framed as the mode wants it on a pipe. `related` is the
            client's request this belongs to (None: no request), `final` says that it answers it.
            """

        def write(self, *chunks: bytes) -> None:
            """Write raw bytes beside the messages, one system call per chunk (pipes only)."""


class Log:
    """One JSON object a line, appended; opened per line so that a whole process tree can share the file.

    Events on stdio: `start` (argv), `child` (pid is the helper's), `recv` (message), `raw` (text that is no
    JSON), `eof`, `signal`, `exit` (status), `epipe`; of single modes: `cancelled` and `late` (id), `answered`
    (answer). Over HTTP also `http` (method, path, headers), `http_status`, `session`, `drop`, `client_gone`.
    Each has `event`, `pid` and `time`. A process that is killed logs no `exit`.
    """

    def __init__(self, path: str | None) -> None:
        self.path = path

    @property
    def pid(self) -> int:
        """The server's process id."""
        return os.getpid()

    def __call__(self, event: str, **fields: Any) -> None:
        if not self.path:
            return
        line = json.dumps({"event": event, "pid": self.pid, "time": time.time(), **fields}, default=repr)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line.encode("ascii") + b"\n")  # one write: lines of processes never mix
        finally:
            os.close(descriptor)

    def leave(self, status: int) -> NoReturn:
        """Log the exit and end the process at once, whatever threads are doing."""
        self("exit", status=status)
        os._exit(status)


class StdioChannel:
    """Standard output as a channel. A client that went away is logged once, never raised."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.broken = False
        self._lock = threading.Lock()

    def deliver(self, data: bytes, chunks: Iterable[bytes], related: object, final: bool) -> None:
        self._write(chunks)  # chunk by chunk: a mode may pause between two

    def write(self, *chunks: bytes) -> None:
        self._write(chunks)

    def _write(self, chunks: Iterable[bytes]) -> None:
        with self._lock:
            try:
                for chunk in chunks:
                    write_all(1, chunk)
            except OSError as error:
                if not self.broken:
                    self.broken = True
                    self.log("epipe", error=str(error))


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data`; blocks while the pipe is full."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def complain(text: str) -> None:
    """Write a line to stderr; a closed stderr is nobody's problem."""
    with contextlib.suppress(OSError):
        write_all(2, text.encode("utf-8", "replace") + b"\n")


def input_lines() -> Iterator[bytes]:
    """Yield the lines of standard input until its end."""
    while True:
        try:
            line = sys.stdin.buffer.readline()
        except (OSError, ValueError):  # a mode closed its own stdin
            return
        if not line:
            return
        yield line


def parse_options(words: list[str]) -> dict[str, str]:
    """Take `key=value` words; all others are kept out (they may be there only to be reported)."""
    return dict(word.split("=", 1) for word in words if "=" in word)
