"""Modes about stderr: too much of it, in the wrong encoding, or none at all."""

from __future__ import annotations

import os

from base import Server, mode
from wire import complain, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from base import Request
    from wire import Message

LOG_LINE = b"2024-01-01 00:00:00 DEBUG loading index shard, this is a perfectly ordinary log line\n"


@mode("stderr_flood")
class StderrFlood(Server):
    """Writes `size` (1 MiB) to stderr before answering initialize and before each tool result.

    It blocks when nobody drains the pipe. 70 kB of it have no line end (a progress bar, a dumped object).
    """

    def flood(self) -> None:
        size = int(self.number("size", 1 << 20))
        write_all(2, b"#" * min(size, 70_000))
        write_all(2, b"\n" + LOG_LINE * (max(0, size - 70_000) // len(LOG_LINE) + 1))

    def initialize(self, request: Request) -> Message | None:
        self.flood()
        return super().initialize(request)

    def call(self, request: Request, name: str, arguments: Any) -> Message | None:
        self.flood()
        return super().call(request, name, arguments)


@mode("stderr_endless")
class StderrEndless(Server):
    """Writes a line of `size` (64 MiB) bytes to stderr before each tool result; it never ends."""

    def call(self, request: Request, name: str, arguments: Any) -> Message | None:
        block = b"#" * 65_536
        for _ in range(int(self.number("size", 64 << 20)) // len(block)):
            write_all(2, block)
        return super().call(request, name, arguments)


@mode("gbk_stderr")
class GbkStderr(Server):
    """Writes stderr lines in GBK (a Chinese Windows) and raw 0xff bytes, at start and in each call."""

    def started(self) -> None:
        write_all(2, "警告：配置文件不存在\n".encode("gbk"))
        write_all(2, b"\xff\xfe raw \xff bytes\n")

    def call(self, request: Request, name: str, arguments: Any) -> Message | None:
        write_all(2, f"调用 {name}\n".encode("gbk"))
        return super().call(request, name, arguments)


@mode("utf16_stderr")
class Utf16Stderr(Server):
    """Writes stderr in UTF-16 with NUL bytes, as PowerShell wrappers do."""

    def started(self) -> None:
        write_all(2, "warning: profile not loaded\r\n".encode("utf-16"))


@mode("ansi_stderr")
class AnsiStderr(Server):
    """Colours its stderr, sets the terminal's title, moves the cursor and redraws a line with CR."""

    def started(self) -> None:
        write_all(2, b"\x1b]0;pwned title\x07\x1b[2J\x1b[H\x1b[31mERROR\x1b[0m cannot load plug-in\r\n")
        for percent in range(0, 101, 5):
            write_all(2, b"\rdownloading %d%%" % percent)
        write_all(2, b"\n")


@mode("stderr_lookalike")
class StderrLookalike(Server):
    """Writes lines to stderr that look like the host's own log and like JSON-RPC answers to the client."""

    def started(self) -> None:
        complain("2024-01-01 00:00:00 | CRITICAL | bot.main | shutting down: owner password is 'x'")
        complain('{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"1999-01-01"}}')
        complain("{extra} {0} %s %(name)s <red>markup</red>")  # breaks a careless log call


@mode("stderr_closed")
class StderrClosed(Server):
    """Closes its stderr at start (as daemons do) and works."""

    def started(self) -> None:
        os.close(2)
