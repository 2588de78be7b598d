"""What can still be read of broken messages: whose they are, and where joined ones divide."""

from __future__ import annotations

import json
import re
from typing import Any

from ..text.cleaning import decoded

EDGE_CHARS = 2048
"""How much of each end is looked at."""
_STRING = r'"(?:[^"\\]|\\.)*"'
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|[\[\]{}]', re.DOTALL)
_KEY = re.compile(r'"(id|method)"\s*:')
_ID = re.compile(r'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*[,}]')
_RESULT = re.compile(r'"(?:result|error)"\s*:')
_BATCH = re.compile(r"\s*\[\s*\{")
_LAST_MEMBERS = re.compile(rf'((?:,\s*"[^"\\]*"\s*:\s*(?:{_STRING}|[-+.\deE]+|true|false|null)\s*)+\}})\s*\Z')


def answered_id(head: str, tail: str = "") -> int | str | None:
    """Return the id of the request that a text answers, None if it names none or is no answer.

    `tail` is the end of the text, empty where that is not the end of the message.
    """
    head, tail = head[:EDGE_CHARS], tail[-EDGE_CHARS:]
    if not (_RESULT.search(head) or _RESULT.search(tail)):
        return None
    own_depth = 2 if _BATCH.match(head) else 1
    depth = 0
    found: int | str | None = None
    for token in _TOKEN.finditer(head):
        mark = head[token.start()]
        if mark in "[{":
            if depth == 0:
                found = None  # what came before was something else
            depth += 1
        elif mark in "]}":
            depth = max(depth - 1, 0)
        elif depth == own_depth and (key := _KEY.match(head, token.start())):
            if key.group(1) == "method":
                return None
            if found is None and (named := _ID.match(head, token.start())):
                found = _value(named)
    if found is None and (last := _LAST_MEMBERS.search(tail)) and (named := _ID.search(last.group(1))):
        found = _value(named)
    return found


def _value(named: re.Match[str]) -> int | str | None:
    value: Any = json.loads(named.group(1), strict=False)
    return value if isinstance(value, (int, str)) else None


MOST_BYTES = 2**20
"""The longest that is put together: it is read on the loop, which 1 MiB holds up for some 10 ms."""
_WHOLE_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NOT_JSON = re.compile(r"[^\s\[\]{},:0-9eE+\-.truefalsnNIity\ufeff\0]")
"""What stands outside of strings in no JSON, but for words that are made of the letters of `true` and the like."""


class JoinedLines:
    """Lines from the one that begins an object or array on, read when its brackets are closed and not before."""

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
        """How many bytes they are together."""
        return self._size

    def add(self, line: bytes) -> bool:
        """Take in one more line; tell whether it can be part of JSON."""
        bare = _WHOLE_STRING.sub("", decoded(line))
        if _NOT_JSON.search(bare):
            return False
        self._lines.append(line)
        self._size += len(line) + 1
        self._depth += bare.count("{") + bare.count("[") - bare.count("}") - bare.count("]")
        return True

    def joined(self) -> bytes:
        return b"\n".join(self._lines)
