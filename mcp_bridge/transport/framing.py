"""Parses the stdout of a server into JSON-RPC messages, however the server writes them.

Servers print banners, BOMs, other encodings, several messages on a line, and numbers and nestings that
Python's own parser rejects. One bad line must not affect the messages around it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..text.cleaning import clean_label, decoded, encodable, truncate
from .broken_messages import EDGE_CHARS, JoinedLines, answered_id

Message = dict[str, Any]

EDGE_BYTES = 1024
"""How much of each end of a line that is too long is kept: the id is near one of them."""
NOISE_CHARS = 200
"""How much of a line that holds no message is shown."""
_STARTS = 20
"""How many "{" on one line are tried as the start of a message."""
_DIGITS = 4000
"""Integers of this many digits become text: Python refuses to convert more than 4300."""
_INVALID = "the message is not valid JSON"
_TOO_DEEP = "the message is nested too deeply"
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89abAB]")


@dataclass(frozen=True)
class TooLong:
    """A line over the limit, discarded while it streamed in, but for its two ends. `size` is in bytes."""

    edges: bytes
    size: int


@dataclass(frozen=True)
class UnreadableAnswer:
    """A response that cannot be parsed. `id` is that of its request, None if it names none."""

    id: int | str | None
    reason: str


@dataclass
class Parsed:
    """The content of one line. `noise` is what was beside the messages, cleaned and cut."""

    messages: list[Message] = field(default_factory=list)
    broken: UnreadableAnswer | None = None
    noise: str = ""
    unfinished: bool = False
    """Whether a JSON object or array begins on the line and does not end there."""


class LineBuffer:
    """Splits a stream into lines, at LF only, keeping no more than `limit` bytes of a line."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chunks: list[bytes] = []
        self._size = 0
        self._dropped: bytes | None = None

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """Return the lines that `data` completes."""
        lines: list[bytes | TooLong] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._add(data[start:end])
            lines.append(self._take())
            start = end + 1
        self._add(data[start:])
        return lines

    def rest(self) -> bytes | TooLong | None:
        """Return the last line of a stream that has ended, None if it ended with an LF."""
        return self._take() if self._size else None

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._dropped is not None:
            self._dropped = edges([self._dropped, piece])
        elif self._size > self._limit:
            self._dropped = edges([*self._chunks, piece])
            self._chunks.clear()
        elif piece:
            self._chunks.append(piece)

    def _take(self) -> bytes | TooLong:
        line: bytes | TooLong
        if self._dropped is None:
            line = b"".join(self._chunks)
        else:
            line = TooLong(self._dropped, self._size)
        self._chunks.clear()
        self._size, self._dropped = 0, None
        return line


def edges(chunks: Sequence[bytes]) -> bytes:
    """Return the first and the last `EDGE_BYTES` of the joined chunks, or all of it if it is no longer than both."""
    if sum(map(len, chunks)) <= 2 * EDGE_BYTES:
        return b"".join(chunks)
    head, tail = b"", b""
    for chunk in chunks:
        if len(head) >= EDGE_BYTES:
            break
        head += chunk[: EDGE_BYTES - len(head)]
    for chunk in reversed(chunks):
        if len(tail) >= EDGE_BYTES:
            break
        tail = chunk[len(tail) - EDGE_BYTES :] + tail
    return head + tail


class LineReader:
    """Splits a server's stdout into lines and parses them, joining JSON that was written over several lines."""

    def __init__(self, limit: int) -> None:
        self._buffer = LineBuffer(limit)
        self._joined: JoinedLines | None = None
        """The lines of a JSON text that is not complete yet."""

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """Return the lines that `data` completes; b"" means the end of the stream."""
        if data:
            return self._buffer.feed(data)
        rest = self._buffer.rest()
        return [] if rest is None else [rest]

    def parse(self, line: bytes | TooLong) -> Parsed:
        """Return the content of a line, together with the lines before it that it completes."""
        parsed = parse_line(line)
        joined, self._joined = self._joined, None
        if joined is None and not parsed.unfinished:
            return parsed
        if joined is not None:
            if not parsed.messages and isinstance(line, bytes) and joined.add(line):
                return self._parse_joined(joined, parsed)
            if parsed.broken is None:  # the lines before this one will never be completed
                parsed.broken = _unreadable(decoded(joined.joined()), _INVALID, ended=False).broken
        if parsed.unfinished and isinstance(line, bytes) and (joined := JoinedLines()).add(line):
            self._joined = joined
            return Parsed(broken=parsed.broken)
        return parsed

    def _parse_joined(self, joined: JoinedLines, last: Parsed) -> Parsed:
        """Return the content of joined lines, nothing while they are incomplete; `last` is that of the last line."""
        if joined.closed:
            parsed = parse_line(joined.joined())
            return parsed if parsed.messages or parsed.broken else last
        if joined.too_long:
            reason = f"the message is too long for one on several lines ({joined.size} bytes)"
            return _unreadable(decoded(joined.joined()), reason, ended=False)
        self._joined = joined
        return Parsed()


def encode(message: Message) -> bytes:
    """Return a message as one line. Raises `ValueError` for values that JSON does not have (NaN)."""
    text = _ENCODER.encode(message)
    return (text if text.isascii() else encodable(text)).encode() + b"\n"


def parse_line(line: bytes | TooLong) -> Parsed:
    """Return the content of a line. Never raises."""
    if isinstance(line, TooLong):
        head, tail = (edge.decode("utf-8", "replace") for edge in (line.edges[:EDGE_BYTES], line.edges[-EDGE_BYTES:]))
        return _attributed(head, tail, f"the message is too long ({line.size} bytes)")
    text = decoded(line).strip(" \t\r\ufeff\0")
    if not text:
        return Parsed()
    try:
        try:
            return _classified(_loads(text))
        except json.JSONDecodeError as error:
            return _parse_mixed(text, unfinished=text[0] in "{[" and error.pos >= len(text) - 1)
    except RecursionError:
        return _unreadable(text, _TOO_DEEP)
    except ValueError as error:
        return _unreadable(text, f"the message cannot be read: {error}")


def is_message(value: object) -> bool:
    """Tell whether a JSON value looks like a JSON-RPC message: its version or a response's id may be missing."""
    if not isinstance(value, dict):
        return False
    response = "id" in value and ("jsonrpc" in value or "result" in value or "error" in value)
    without_id = "jsonrpc" in value and ("result" in value or "error" in value)
    return isinstance(value.get("method"), str) or response or without_id


def _loads(text: str) -> Any:
    return _readable(_decoder(text).decode(text), text)


def _decoder(text: str) -> json.JSONDecoder:
    """Return a parser for a text, one that turns huge integers into text if there may be any."""
    if len(text) > _DIGITS and re.search(rf"\d{{{_DIGITS}}}", text):
        return json.JSONDecoder(parse_int=lambda digits: int(digits) if len(digits) < _DIGITS else digits)
    return json.JSONDecoder()


def _readable(value: Any, text: str) -> Any:
    """Replace lone surrogates, which cannot be encoded as UTF-8."""
    return _without_surrogates(value) if _SURROGATE_ESCAPE.search(text) else value


def _without_surrogates(value: Any) -> Any:
    match value:
        case str():
            return encodable(value)
        case dict():
            return {encodable(key): _without_surrogates(item) for key, item in value.items()}
        case list():
            return [_without_surrogates(item) for item in value]
        case _:
            return value


def _classified(value: Any) -> Parsed:
    """Separate messages from other JSON; an array is a batch (protocol 2025-03-26)."""
    values = value if isinstance(value, list) else [value]
    parsed = Parsed([one for one in values if is_message(one)])
    if len(parsed.messages) < len(values) or not values:
        parsed.noise = clean_label(json.dumps(value, ensure_ascii=False, default=str)[:NOISE_CHARS])
    return parsed


def _parse_mixed(text: str, *, unfinished: bool) -> Parsed:
    """Return the messages on a line that also holds other text."""
    parsed = Parsed()
    noise: list[str] = []
    position = 0
    for _ in range(_STARTS):
        start = text.find("{", position)
        if start < 0:
            break
        noise.append(text[position:start])
        try:
            value, end = _decoder(text).raw_decode(text, start)
            if is_message(value):
                value = _readable(value, text)
        except RecursionError:  # objects inside it are not messages of their own
            parsed.broken = _unreadable(text[start:], _TOO_DEEP).broken
            position = start
            break
        except ValueError:
            value, end = None, start + 1
        if is_message(value):
            parsed.messages.append(value)
        else:
            noise.append(text[start:end])
        position = end
    noise.append(text[position:])
    parsed.noise = _shown("".join(noise))
    parsed.unfinished = unfinished and not parsed.messages
    if not parsed.messages and parsed.broken is None:
        parsed.broken = _unreadable(text, _INVALID, ended=not unfinished).broken
    if parsed.broken is not None and not parsed.messages:
        parsed.noise = ""
    return parsed


def _unreadable(text: str, reason: str, *, ended: bool = True) -> Parsed:
    """Attribute an unreadable text to the request that it answers. `ended` is false if its end may be missing."""
    return _attributed(text[:EDGE_CHARS], text[-EDGE_CHARS:] if ended else "", reason)


def _attributed(head: str, tail: str, reason: str) -> Parsed:
    """Attribute an unreadable text by its two ends: it is noise if it answers no request."""
    request_id = answered_id(head, tail)
    if request_id is not None:
        return Parsed(broken=UnreadableAnswer(request_id, reason))
    return Parsed(noise=_shown(head))


def _shown(noise: str) -> str:
    """Return the beginning of noise for the log. A cut is marked, so that the redactor looks for a secret there."""
    return truncate(clean_label(noise[: 5 * NOISE_CHARS]), NOISE_CHARS)
