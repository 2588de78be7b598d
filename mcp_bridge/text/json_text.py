"""Write strict JSON from values that servers send.

Python's `json` writes bare `NaN` and lone surrogates; model APIs refuse both.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from .cleaning import encodable
from .json_values import MAX_DEPTH

MAX_EXACT_DIGITS = 4000
"""Longest integer written as a number: Python refuses to print more than 4300 digits."""


def plain(value: object, *, depth: int = MAX_DEPTH) -> Any:
    """Return a copy of JSON types only: NaN and infinities become None, other types and deeper levels text."""
    match value:
        case None | bool():
            return value
        case str():
            return encodable(value)
        case int():
            return int(value) if value.bit_length() < MAX_EXACT_DIGITS * 3 else hex(value)
        case float():
            return float(value) if math.isfinite(value) else None
        case _ if depth <= 0:
            return "…"
        case Mapping():
            return {encodable(str(key)): plain(item, depth=depth - 1) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item, depth=depth - 1) for item in value]
        case _:
            return encodable(str(value))


def dumps(value: object, *, indent: int | None = None) -> str:
    """Return strict JSON text with non-ASCII characters as they are; never raises for data."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=indent)
