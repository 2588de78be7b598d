"""Whose answer a text is that cannot be read: the id that it names for itself, outside of its result.

Results are full of ids of other things. What is looked at is the beginning, where the depth of each key is known,
and the very end, where plain members before the last brace can belong to nothing but the message.
"""

from __future__ import annotations

import json
import re
from typing import Any

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
