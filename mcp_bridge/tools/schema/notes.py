"""Notes in the description of a parameter: what its schema had to leave out, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ...text.cleaning import clean_label, truncate
from .keywords import enum_strings, listed_values, single_type

_MAX_CHARS: Final = 120
"""Longest value quoted in a note, in characters."""

_BOUNDS: Final = (
    ("exclusiveMinimum", ">"),
    ("minimum", ">="),
    ("exclusiveMaximum", "<"),
    ("maximum", "<="),
    ("multipleOf", "multiple of"),
)
_SIZES: Final = (
    ("minLength", "maxLength", "length"),
    ("minItems", "maxItems", "items:"),
    ("minProperties", "maxProperties", "properties:"),
)


def with_notes(description: str, notes: list[str], limit: int) -> str:
    """Return the description with the notes in brackets; if it passes `limit` characters, it is cut, not they."""
    added = truncate(f"({'; '.join(notes)})", limit)
    room = limit - len(added) - 1
    return f"{truncate(description, room)} {added}".strip() if description and room > 0 else added


def limit_notes(node: dict[str, Any]) -> list[str]:
    """Return the limits of a schema in words."""
    notes = [f"{sign} {_short(node[key])}" for key, sign in _BOUNDS if key in node]
    notes += _sizes(node)
    if node.get("uniqueItems"):
        notes.append("no duplicate items")
    notes += [f"{key}: {_short(node[key])}" for key in ("format", "pattern", "default") if key in node]
    notes += _values(node)
    if node.get("nullable"):
        notes.append("or null")
    if isinstance(free := node.get("additionalProperties"), dict) and not node.get("properties"):
        of_type = f", each with a value of type {free['type']}" if "type" in free else ""
        notes.append(f"any property names{of_type}")
    return notes


def _sizes(node: dict[str, Any]) -> Iterator[str]:
    for low, high, what in _SIZES:
        if low in node and high in node:
            yield f"{what} {node[low]}-{node[high]}"
        elif low in node:
            yield f"{what} >= {node[low]}"
        elif high in node:
            yield f"{what} <= {node[high]}"


def _values(node: dict[str, Any]) -> Iterator[str]:
    """Name the listed values that an `enum` of strings cannot hold."""
    listed = listed_values(node)
    strings = enum_strings(node) if single_type(node) in (None, "string") else []
    if others := [value for value in listed if value not in strings]:
        shown = truncate(", ".join(map(_short, others)), 2 * _MAX_CHARS)
        yield f"or {shown}" if len(others) < len(listed) else f"one of {shown}"


def _short(value: object) -> str:
    shown = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    return truncate(clean_label(shown), _MAX_CHARS)
