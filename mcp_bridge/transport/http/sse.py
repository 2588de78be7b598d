"""Server-sent events, read leniently and written strictly (WHATWG HTML, section 9.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...text.cleaning import decoded
from ..framing import TooLong, edges

_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass
class Event:
    """One event. `too_long` holds both ends of the data of an event over the limit."""

    name: str = "message"
    data: str = ""
    id: str | None = None
    retry: str | None = None
    too_long: TooLong | None = None


class EventReader:
    """Parses the bytes of an event stream, keeping no more than `limit` bytes of an event."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._after_return = False
        """Whether the last byte was a CR: an LF that follows belongs to it."""
        self._partial: list[bytes] = []
        """The pieces of a line that has no end yet, and their size in bytes."""
        self._partial_size = 0
        self._first = True
        self._reset()

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that `chunk` completes; b"" ends the stream and its last event."""
        data = chunk
        if self._first and data:
            self._first = False
            data = data.removeprefix(b"\xef\xbb\xbf")
        if self._after_return:  # the line was ended at once: no more data may come for a long time
            data = data.removeprefix(b"\n")
        self._after_return = chunk.endswith(b"\r")
        lines = _lines(data)
        events = []
        for line in lines[:-1] if chunk else [*lines, b""]:
            if event := self._end_line(line):
                events.append(event)
        if chunk:
            self._keep_partial(lines[-1])
        return events

    def _keep_partial(self, piece: bytes) -> None:
        """Keep a piece of a line that has no end yet, or both ends of the line if it is over the limit."""
        self._partial_size += len(piece)
        if piece:
            self._partial.append(piece)
        if self._partial_size > self._limit:
            self._partial = [edges(self._partial)]

    def _end_line(self, rest: bytes) -> Event | None:
        """Process a complete line, of which `rest` is the last piece; return the event that it ends."""
        line, size = b"".join(self._partial) + rest, self._partial_size + len(rest)
        self._partial, self._partial_size = [], 0
        if line:
            self._add_field(line, size)
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

    def _add_field(self, line: bytes, size: int) -> None:
        """Add a field to the event. `size` is that of the whole line in bytes; `line` may be only its two ends."""
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
    """Split at every kind of line end; the last item is the piece after the last line end."""
    return _LINE_END.split(data) if b"\n" in data or b"\r" in data else [data]
