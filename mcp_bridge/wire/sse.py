"""Server-sent events, read leniently and written strictly (WHATWG HTML, section 9.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass
class Event:
    """One event. `too_long` marks one over the limit, whose data was discarded."""

    name: str = "message"
    data: str = ""
    id: str | None = None
    retry: str | None = None
    too_long: bool = False


class EventReader:
    """Bytes of an event stream -> events, keeping no more than `limit` bytes of one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pending = b""
        self._first = True
        self._reset()

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that `chunk` completes; b"" ends the stream and its last event."""
        data = self._pending + chunk
        if self._first and data:
            self._first = False
            data = data.removeprefix(b"\xef\xbb\xbf")
        # A CR at the end may be half of a CR LF.
        held = data[-1:] if chunk and data.endswith(b"\r") else b""
        *lines, rest = _LINE_END.split(data[: len(data) - len(held)])
        if not chunk:
            lines, rest = [*lines, rest, b""], b""
        if len(rest) > self._limit:
            rest, self._event.too_long = rest[:64], True
        self._pending = rest + held
        events = []
        for line in lines:
            if line:
                self._take(line)
            elif self._data or self._event.id is not None or self._event.too_long:
                self._event.data = b"\n".join(self._data).decode("utf-8", "replace")
                events.append(self._event)
                self._reset()
            else:
                self._reset()
        return events

    def _reset(self) -> None:
        self._event = Event()
        self._data: list[bytes] = []
        self._size = 0

    def _take(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._size += len(value)
            if self._size > self._limit:
                self._event.too_long = True
                self._data.clear()
            elif not self._event.too_long:
                self._data.append(value)
            return
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
