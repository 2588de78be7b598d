"""Read JSON text, copy foreign values into plain JSON, and compare values as JSON Schema does."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from .cleaning import encodable

MAX_DEPTH: Final = 100
"""Levels of nesting read or written: far below Python's recursion limit, far above what tools use."""

MAX_NODES: Final = 200_000
"""Most values copied from one document: a shared or cyclic structure would grow without end."""

MAX_INT_BITS: Final = 1024
"""Larger integers are beyond a double, and Python refuses to print more than 4300 digits."""

MAX_INT_DIGITS: Final = 300
"""Most digits of an integer read from text: just within MAX_INT_BITS."""


class _Dropped:
    """Type of `DROPPED`, which stands for a value that JSON cannot carry."""


DROPPED: Final = _Dropped()


class JsonCopier:
    """Copies one document; `cut` is true afterwards if a limit was reached."""

    def __init__(self) -> None:
        self.nodes = 0
        self.cut = False

    def copy(self, value: object, depth: int = MAX_DEPTH) -> Any:
        """Return the plain copy of `value`, or DROPPED for NaN, bytes, sets and the like."""
        self.nodes += 1
        if isinstance(value, str):
            return encodable(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return int(value) if value.bit_length() <= MAX_INT_BITS else DROPPED
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else DROPPED
        if isinstance(value, Mapping):
            return self._copy_mapping(value, depth)
        if isinstance(value, (list, tuple)):
            return self._copy_list(value, depth)
        return DROPPED

    def _copy_mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        copied: dict[str, Any] = {}
        if self._spent(depth):
            return copied
        for key, member in value.items():
            if self.nodes > MAX_NODES:
                self.cut = True
                break
            if isinstance(key, str) and (plain := self.copy(member, depth - 1)) is not DROPPED:
                copied[encodable(key)] = plain
        return copied

    def _copy_list(self, value: list[Any] | tuple[Any, ...], depth: int) -> list[Any]:
        copied: list[Any] = []
        if self._spent(depth):
            return copied
        for member in value:
            if self.nodes > MAX_NODES:
                self.cut = True
                break
            if (plain := self.copy(member, depth - 1)) is not DROPPED:
                copied.append(plain)
        return copied

    def _spent(self, depth: int) -> bool:
        if depth > 0 and self.nodes <= MAX_NODES:
            return False
        self.cut = True
        return True


def read_json(text: str) -> Any:
    """Parse JSON text; line ends and tabs inside a string are accepted, because models forget to escape them.

    Raises ValueError for NaN and infinite numbers, which Python reads but JSON does not have, and for integers
    of more than MAX_INT_DIGITS digits; RecursionError for text that is nested too deeply.
    """
    return json.loads(text, strict=False, parse_constant=_refuse, parse_int=_read_int, parse_float=_read_float)


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number")


def _read_int(digits: str) -> int:
    if len(digits) > MAX_INT_DIGITS:
        raise ValueError(f"the number {digits[:20]}... is too long")
    return int(digits)


def _read_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


def json_type(value: object) -> str | None:
    """Return the JSON Schema type of a plain value; a float without a fraction is an integer."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, Mapping):
        return "object"
    return "array" if isinstance(value, (list, tuple)) else None


def same_json(left: object, right: object, depth: int = MAX_DEPTH) -> bool:
    """Compare as JSON Schema does: 1 equals 1.0, but neither equals true."""
    if depth <= 0:
        return True
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same_json(left[key], right[key], depth - 1) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(same_json(a, b, depth - 1) for a, b in zip(left, right, strict=True))
    return left == right
