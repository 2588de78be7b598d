"""Messages that cannot be parsed: find the id of the request, and join JSON that was split over lines."""

from __future__ import annotations

import json
import re
from typing import Any

from ..text.cleaning import decoded

EDGE_CHARS = 2048
"""How much of each end of a text is searched."""
_STRING = r'"(?:[^"\\]|\\.)*"'
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|[\[\]{}]', re.DOTALL)
_KEY = re.compile(r'"(id|method)"\s*:')
_ID = re.compile(r'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*[,}]')
_RESULT = re.compile(r'"(?:result|error)"\s*:')
_BATCH = re.compile(r"\s*\[\s*\{")
_LAST_MEMBERS = re.compile(rf'((?:,\s*"[^"\\]*"\s*:\s*(?:{_STRING}|[-+.\deE]+|true|false|null)\s*)+\}})\s*\Z')


def answered_id(head: str, tail: str = "") -> int | str | None:
    """Find the request id in a response that cannot be parsed; None if it names none or is not a response.

    `tail` is the end of the text, "" if that is not the end of the message.
    """
    head, tail = head[:EDGE_CHARS], tail[-EDGE_CHARS:]
    if not (_RESULT.search(head) or _RESULT.search(tail)):
        return None
    found, has_method = _own_members(head)
    if has_method:
        return None
    if found is None and (last := _LAST_MEMBERS.search(tail)) and (member := _ID.search(last.group(1))):
        found = _value(member)
    return found


def _own_members(head: str) -> tuple[int | str | None, bool]:
    """Return the id of a message, and whether it has a method; members of values inside it do not count."""
    own_depth = 2 if _BATCH.match(head) else 1
    depth = 0
    found: int | str | None = None
    for token in _TOKEN.finditer(head):
        mark = head[token.start()]
        if mark in "[{":
            if depth == 0:
                found = None  # what came before was not the message
            depth += 1
        elif mark in "]}":
            depth = max(depth - 1, 0)
        elif depth == own_depth and (key := _KEY.match(head, token.start())):
            if key.group(1) == "method":
                return None, True
            if found is None and (member := _ID.match(head, token.start())):
                found = _value(member)
    return found, False


def _value(member: re.Match[str]) -> int | str | None:
    value: Any = json.loads(member.group(1), strict=False)
    return value if isinstance(value, (int, str)) else None


MOST_BYTES = 2**20
"""The longest text that is joined: it is parsed on the loop, which takes some 10 ms for 1 MiB."""
_WHOLE_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NOT_JSON = re.compile(r"[^\s\[\]{},:0-9eE+\-.truefalsnNIity\ufeff\0]")
"""A character that JSON has only inside strings. The letters of `true`, `NaN` and the like are not checked further."""


class JoinedLines:
    """The lines of one JSON object or array, to be parsed together when all brackets are closed."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._depth = 0
        self._size = 0

    @property
    def closed(self) -> bool:
        """Whether every bracket is closed."""
        return self._depth <= 0

    @property
    def too_long(self) -> bool:
        return self._size > MOST_BYTES

    @property
    def size(self) -> int:
        """The size of the joined lines in bytes."""
        return self._size

    def add(self, line: bytes) -> bool:
        """Add a line if it can be part of JSON; tell whether it was added."""
        bare = _WHOLE_STRING.sub("", decoded(line))
        if _NOT_JSON.search(bare):
            return False
        self._lines.append(line)
        self._size += len(line) + 1
        self._depth += bare.count("{") + bare.count("[") - bare.count("}") - bare.count("]")
        return True

    def joined(self) -> bytes:
        return b"\n".join(self._lines)
