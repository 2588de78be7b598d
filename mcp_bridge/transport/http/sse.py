"""Server-sent events, read leniently and written strictly (WHATWG HTML, section 9.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...text.cleaning import decoded
from ..framing import TooLong, edges

_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass
class Event:
    """One event. `too_long` is what was kept of one over the limit: both ends of its data."""

    name: str = "message"
    data: str = ""
    id: str | None = None
    retry: str | None = None
    too_long: TooLong | None = None


class EventReader:
    """Bytes of an event stream -> events, keeping no more than `limit` bytes of one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._after_return = False
        """Whether the last byte was a CR: an LF may follow that belongs to it."""
        self._begun: list[bytes] = []
        self._begun_size = 0
        self._first = True
        self._reset()

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that `chunk` completes; b"" ends the stream and its last event."""
        data = chunk
        if self._first and data:
            self._first = False
            data = data.removeprefix(b"\xef\xbb\xbf")
        if self._after_return:  # that line has ended: what it says may have been all for a long time
            data = data.removeprefix(b"\n")
        self._after_return = chunk.endswith(b"\r")
        lines = _lines(data)
        events = []
        for line in lines[:-1] if chunk else [*lines, b""]:
            if event := self._end_line(line):
                events.append(event)
        if chunk:
            self._begin_line(lines[-1])
        return events

    def _begin_line(self, piece: bytes) -> None:
        """Keep the beginning of a line, or its two ends; what has come before is not looked at again."""
        self._begun_size += len(piece)
        if piece:
            self._begun.append(piece)
        if self._begun_size > self._limit:
            self._begun = [edges(self._begun)]

    def _end_line(self, rest: bytes) -> Event | None:
        """Take a line whose end has come; return the event that it ends."""
        line, size = b"".join(self._begun) + rest, self._begun_size + len(rest)
        self._begun, self._begun_size = [], 0
        if line:
            self._take(line, size)
            return None
        event = None
        if self._data or self._event.id is not None or self._event.too_long:
            event = self._event
            event.data = "" if event.too_long else decoded(b"\n".join(self._data))
        self._reset()
        return event

    def _reset(self) -> None:
        self._event = Event()
        self._data: list[bytes] = []
        self._size = 0

    def _take(self, line: bytes, size: int) -> None:
        """Take a line of that many bytes; of one over the limit only the two ends are there."""
        field, _, value = line.partition(b":")
        if field == b"data":
            self._size += size - len(line) + len(value.removeprefix(b" "))
            self._data.append(value.removeprefix(b" "))
            if self._size > self._limit:
                self._data = [edges(self._data)]
                self._event.too_long = TooLong(self._data[0], self._size)
            return
        value = value.removeprefix(b" ")
        text = value.decode("utf-8", "replace")
        if field == b"event":
            self._event.name = text or "message"
        elif field == b"id" and "\0" not in text:
            self._event.id = text
        elif field == b"retry" and text.isdecimal():
            self._event.retry = text


def encode_event(event: Event) -> bytes:
    """Return an event as bytes; `data` must be one line."""
    lines = [f"event: {event.name}"]
    if event.id is not None:
        lines.append(f"id: {event.id}")
    if event.retry is not None:
        lines.append(f"retry: {event.retry}")
    lines.append(f"data: {event.data}")
    return ("\n".join(lines) + "\n\n").encode("utf-8", "replace")


def _lines(data: bytes) -> list[bytes]:
    """Split at every kind of line end; the last piece is not ended."""
    return _LINE_END.split(data) if b"\n" in data or b"\r" in data else [data]
