"""JSON that a server writes over several lines."""

from __future__ import annotations

import re

from ..text.cleaning import decoded

MOST_BYTES = 2**20
"""The longest that is put together: it is read on the loop, which 1 MiB holds up for some 10 ms."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
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
        bare = _STRING.sub("", decoded(line))
        if _NOT_JSON.search(bare):
            return False
        self._lines.append(line)
        self._size += len(line) + 1
        self._depth += bare.count("{") + bare.count("[") - bare.count("}") - bare.count("]")
        return True

    def joined(self) -> bytes:
        return b"\n".join(self._lines)
