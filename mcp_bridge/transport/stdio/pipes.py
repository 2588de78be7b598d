"""The ends of a server's pipes on an event loop, with flow control."""

from __future__ import annotations

import asyncio
from typing import Any, cast

HIGH_WATER_BYTES = 2**20
"""How many unread bytes are kept before reading from the pipe pauses."""


class PipeReader(asyncio.Protocol):
    """The reading end. After `close`, `read` returns b"" even if another process holds the pipe open."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0
        self._changed = asyncio.Event()
        self._ended = False
        self._transport: asyncio.ReadTransport | None = None

    @classmethod
    async def open(cls, pipe: Any) -> PipeReader:
        transport, reader = await asyncio.get_running_loop().connect_read_pipe(cls, pipe)
        reader._transport = transport
        return reader

    def attach(self, transport: Any) -> None:
        """Use a transport that was opened elsewhere."""
        self._transport = transport

    @property
    def buffered(self) -> int:
        """How many bytes have arrived and are not read yet."""
        return self._size

    async def read(self) -> bytes:
        """Wait for bytes and return all that have arrived, b"" at the end. One reader at a time."""
        while not self._chunks and not self._ended:
            self._changed.clear()
            await self._changed.wait()
        data = b"".join(self._chunks)
        self._chunks.clear()
        self._size = 0
        if self._transport is not None and not self._ended:
            self._transport.resume_reading()
        return data

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
        self.connection_lost(None)

    def data_received(self, data: bytes) -> None:
        if self._ended:
            return
        self._chunks.append(data)
        self._size += len(data)
        self._changed.set()
        if self._size > HIGH_WATER_BYTES and self._transport is not None:
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._changed.set()


class PipeWriter(asyncio.BaseProtocol):
    """The writing end."""

    def __init__(self) -> None:
        self._transport: asyncio.WriteTransport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._lost = False

    @classmethod
    async def open(cls, pipe: Any) -> PipeWriter:
        transport, writer = await asyncio.get_running_loop().connect_write_pipe(cls, pipe)
        writer._transport = transport
        return writer

    def attach(self, transport: Any) -> None:
        """Use a transport that was opened elsewhere."""
        self._transport = transport

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the pipe can take more. Raises `BrokenPipeError` if the other side has closed it."""
        await self._writable.wait()
        if self.is_closing():  # also if a write has just failed
            raise BrokenPipeError("the server closed its input")

    def close(self) -> None:
        """Close the pipe now and drop what is not written yet."""
        if self._transport is not None and not self.is_closing():  # asyncio fails on a second abort
            self._transport.abort()

    def is_closing(self) -> bool:
        return self._lost or self._transport is None or self._transport.is_closing()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._writable.set()


class LoopPipes(asyncio.SubprocessProtocol):
    """The three pipes of a process started by the event loop (the only way on Windows)."""

    def __init__(self) -> None:
        self.stdin = PipeWriter()
        self.stdout = PipeReader()
        self.stderr = PipeReader()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        process = cast(asyncio.SubprocessTransport, transport)
        self.stdin.attach(process.get_pipe_transport(0))
        self.stdout.attach(process.get_pipe_transport(1))
        self.stderr.attach(process.get_pipe_transport(2))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        (self.stdout if fd == 1 else self.stderr).data_received(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        (self.stdin, self.stdout, self.stderr)[fd].connection_lost(exc)

    def pause_writing(self) -> None:
        self.stdin.pause_writing()

    def resume_writing(self) -> None:
        self.stdin.resume_writing()
