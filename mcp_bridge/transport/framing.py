"""Bytes of a stdio server -> JSON-RPC messages, however the server writes them.

Servers print banners, BOMs, other encodings, several messages on a line, numbers and
nestings that Python's own parser refuses. None of it may cost more than itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..text.cleaning import clean_label, decoded, encodable, truncate
from .salvage import EDGE_CHARS, JoinedLines, answered_id

Message = dict[str, Any]

EDGE_BYTES = 1024
"""What is kept of each end of a line that is too long: the id stands near one of them."""
NOISE_CHARS = 200
_STARTS = 20
"""How many places on one line are tried as the beginning of a message."""
_DIGITS = 4000
_INVALID = "the message is not valid JSON"
_TOO_DEEP = "the message is nested too deeply"
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89abAB]")


@dataclass(frozen=True)
class TooLong:
    """A line over the limit, discarded while it streamed in; its two ends are kept."""

    edges: bytes
    size: int


@dataclass(frozen=True)
class UnreadableAnswer:
    """An answer that cannot be read: whose it is (None: it does not say), and why."""

    id: int | str | None
    reason: str


@dataclass
class Parsed:
    """What one line held."""

    messages: list[Message] = field(default_factory=list)
    broken: UnreadableAnswer | None = None
    noise: str = ""
    unfinished: bool = False
    """Whether the line begins a JSON object that it does not end."""


class LineBuffer:
    """Cuts a stream into lines at LF alone, keeping no more than `limit` bytes of one."""

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
        """Return what was left without a line end when the stream ended."""
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
    """Return both ends of what the chunks make together, without making it if it is large; all of it if they meet."""
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
    """Bytes of a server's stdout -> lines, with JSON that was broken over several of them joined."""

    def __init__(self, limit: int) -> None:
        self._buffer = LineBuffer(limit)
        self._begun: JoinedLines | None = None

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """Return the lines that `data` completes; b"" means the end of the stream."""
        if data:
            return self._buffer.feed(data)
        rest = self._buffer.rest()
        return [] if rest is None else [rest]

    def parse(self, line: bytes | TooLong) -> Parsed:
        """Return what a line holds, together with the lines before it that it completes."""
        parsed = parse_line(line)
        begun, self._begun = self._begun, None
        if begun is None and not parsed.unfinished:
            return parsed
        if begun is not None:
            if not parsed.messages and isinstance(line, bytes) and begun.add(line):
                return self._go_on(begun, parsed)
            if parsed.broken is None:  # what was begun will not be completed any more
                parsed.broken = _broken(decoded(begun.joined()), _INVALID, ended=False).broken
        if parsed.unfinished and isinstance(line, bytes) and (begun := JoinedLines()).add(line):
            self._begun = begun
            return Parsed(broken=parsed.broken)
        return parsed

    def _go_on(self, begun: JoinedLines, last: Parsed) -> Parsed:
        """Return what the lines from `begun` on hold, nothing as long as that is not complete."""
        if begun.closed:
            joined = parse_line(begun.joined())
            return joined if joined.messages or joined.broken else last
        if begun.too_long:
            reason = f"the message is too long for one on several lines ({begun.size} bytes)"
            return _broken(decoded(begun.joined()), reason, ended=False)
        self._begun = begun
        return Parsed()


def encode(message: Message) -> bytes:
    """Return a message as one line. Raises `ValueError` for what JSON cannot say (NaN)."""
    text = _ENCODER.encode(message)
    return (text if text.isascii() else encodable(text)).encode() + b"\n"


def parse_line(line: bytes | TooLong) -> Parsed:
    """Return the messages on a line, and what else was there. Never raises."""
    if isinstance(line, TooLong):
        head, tail = (edge.decode("utf-8", "replace") for edge in (line.edges[:EDGE_BYTES], line.edges[-EDGE_BYTES:]))
        return _attributed(head, tail, f"the message is too long ({line.size} bytes)")
    text = decoded(line).strip(" \t\r\ufeff\0")
    if not text:
        return Parsed()
    try:
        try:
            return _sorted(_loads(text))
        except json.JSONDecodeError as error:
            return _parse_mixed(text, unfinished=text[0] in "{[" and error.pos >= len(text) - 1)
    except RecursionError:
        return _broken(text, _TOO_DEEP)
    except ValueError as error:
        return _broken(text, f"the message cannot be read: {error}")


def is_message(value: object) -> bool:
    """Tell whether a JSON value looks like JSON-RPC, also without its version."""
    if not isinstance(value, dict):
        return False
    answer = "id" in value and ("jsonrpc" in value or "result" in value or "error" in value)
    nameless = "jsonrpc" in value and ("result" in value or "error" in value)
    return isinstance(value.get("method"), str) or answer or nameless


def _loads(text: str) -> Any:
    return _readable(_decoder(text).decode(text), text)


def _decoder(text: str) -> json.JSONDecoder:
    """Return a parser; Python's own integers refuse more digits than 4300, so those become text."""
    if len(text) > _DIGITS and re.search(rf"\d{{{_DIGITS}}}", text):
        return json.JSONDecoder(parse_int=lambda digits: int(digits) if len(digits) < _DIGITS else digits)
    return json.JSONDecoder()


def _readable(value: Any, text: str) -> Any:
    """Replace lone surrogates: nothing downstream could encode them."""
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


def _sorted(value: Any) -> Parsed:
    """Separate messages from other JSON; an array is a batch (protocol 2025-03-26)."""
    values = value if isinstance(value, list) else [value]
    parsed = Parsed([one for one in values if is_message(one)])
    if len(parsed.messages) < len(values) or not values:
        parsed.noise = clean_label(json.dumps(value, ensure_ascii=False, default=str)[:NOISE_CHARS])
    return parsed


def _parse_mixed(text: str, *, unfinished: bool) -> Parsed:
    """Find messages among other words on one line."""
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
        except RecursionError:  # what stands inside of it is no message
            parsed.broken = _broken(text[start:], _TOO_DEEP).broken
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
        parsed.broken = _broken(text, _INVALID, ended=not unfinished).broken
    if parsed.broken is not None and not parsed.messages:
        parsed.noise = ""
    return parsed


def _broken(text: str, reason: str, *, ended: bool = True) -> Parsed:
    """Attribute an unreadable text to the request that it answers; `ended` tells whether it stops where it should."""
    return _attributed(text[:EDGE_CHARS], text[-EDGE_CHARS:] if ended else "", reason)


def _attributed(head: str, tail: str, reason: str) -> Parsed:
    """Return what is to be done about an unreadable text of which both ends are known."""
    request_id = answered_id(head, tail)
    if request_id is not None:
        return Parsed(broken=UnreadableAnswer(request_id, reason))
    return Parsed(noise=_shown(head))


def _shown(noise: str) -> str:
    """Return the beginning of noise for the log; the mark of the cut tells the mask to look for a secret there."""
    return truncate(clean_label(noise[: 5 * NOISE_CHARS]), NOISE_CHARS)
