"""The supervised stdio transport: a channel over the pipes of a server's process."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from ...aio import run_in_thread
from ...errors import ServerUnavailable
from ..channel import NO_HEADERS, SideOutput
from ..framing import LineReader, Message, Parsed, TooLong, UnreadableAnswer, encode
from . import process
from .guardian import MARKER_VARIABLE, Guardian
from .launch import Launch

logger = logging.getLogger(__name__)

THREAD_BYTES = 2**20
"""Lines longer than this are parsed in a thread: 64 MiB take 1.7 s."""
TURN_LINES = 200
"""After this many lines without a message, other tasks get their turn: a line takes up to 0.1 ms."""
END_SECONDS = 1.0
"""How long to wait for the exit status after the end of a server's output."""
STDERR_LINES_PER_PROCESS = 500
"""How many lines of stderr of one process are forwarded to the log."""


class StdioChannel:
    """A `Channel` over the pipes of a running process."""

    def __init__(self, server: str, running: process.ServerProcess, limit: int, redact: Callable[[str], str]) -> None:
        self._server = server
        self._process = running
        self._redact = redact
        self._reader = LineReader(limit)
        self._lines: deque[bytes | TooLong] = deque()
        self._ready: deque[Message | UnreadableAnswer] = deque()
        self.side_output = SideOutput()

    async def receive(self) -> Message | UnreadableAnswer | None:
        parsed_lines = 0
        while not self._ready:
            if self._lines:
                self._take(await self._parse(self._lines.popleft()))
                parsed_lines += 1
                if parsed_lines % TURN_LINES == 0:
                    await asyncio.sleep(0)
            else:
                data = await self._process.read()
                self._lines.extend(self._reader.feed(data))
                if not data and not self._lines:
                    return None
        return self._ready.popleft()

    async def send(self, message: Message, headers: Mapping[str, str] = NO_HEADERS) -> None:
        await self._process.write(encode(message))

    def use_protocol_version(self, version: str) -> None:
        """Do nothing: over stdio only `initialize` names the version."""

    async def describe_end(self) -> str:
        await self._process.wait_exit(END_SECONDS)
        await asyncio.sleep(0)  # so that the last lines of stderr are read
        end = self._process.describe_end()
        if ":" not in end and self.side_output.stdout:  # some servers write the reason to stdout
            end = f"{end}: {self.side_output.stdout[-1]}"
        return self._redact(end)

    async def _parse(self, line: bytes | TooLong) -> Parsed:
        if isinstance(line, bytes) and len(line) > THREAD_BYTES:
            return await run_in_thread(self._reader.parse, line)
        return self._reader.parse(line)

    def _take(self, parsed: Parsed) -> None:
        self._ready.extend(parsed.messages)
        if parsed.broken is not None:
            self._ready.append(parsed.broken)
        if parsed.noise:
            level = logging.DEBUG if self.side_output.stdout else logging.WARNING
            noise = self._redact(parsed.noise)
            self.side_output.stdout.append(noise)
            logger.log(level, "MCP server '%s' writes non-protocol output to stdout: %s", self._server, noise)


@asynccontextmanager
async def open_stdio(
    server: str, launch: Launch, *, limit: int, guardian: Guardian, redact: Callable[[str], str]
) -> AsyncIterator[StdioChannel]:
    """Start a server and yield its channel; on leaving, end the server and everything that it has started.

    `limit` is the longest message taken, in bytes. Raises `ServerUnavailable` if the server cannot be started.
    """
    number = guardian.number()
    marked = replace(launch, env={**launch.env, MARKER_VARIABLE: guardian.mark(number)})
    try:
        running = await process.start(marked)
    except (OSError, ValueError) as error:
        reason = f"cannot start {launch.program}: {getattr(error, 'strerror', None) or error}"
        raise ServerUnavailable(redact(reason), server=server, cause="start") from error
    guardian.watch(running.pid, number)
    try:
        channel = StdioChannel(server, running, limit, redact)
        running.on_stderr_line = _StderrLog(server, redact, channel.side_output)
        yield channel
    finally:
        await running.stop()
        guardian.release(running.pid)


class _StderrLog:
    """Forwards the stderr of a server to the log, with the server's name and without secrets."""

    def __init__(self, server: str, redact: Callable[[str], str], side_output: SideOutput) -> None:
        self._server = server
        self._redact = redact
        self._side_output = side_output
        self._left = STDERR_LINES_PER_PROCESS

    def __call__(self, line: str) -> None:
        self._left -= 1
        line = self._redact(line)
        self._side_output.stderr.append(line)
        if self._left > 0:
            logger.debug("[%s] %s", self._server, line)
        elif self._left == 0:
            logger.debug(
                "[%s] has written %d lines to stderr; further lines are not logged",
                self._server,
                STDERR_LINES_PER_PROCESS,
            )
