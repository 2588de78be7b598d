"""What the owner allows beyond yes and no: rates, and what is said of single tools.

The values, and how they are read from a server's table. Raises `EntryError` for what is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from .entry_error import EntryError, kind

Visibility = Literal["visible", "deferred", "hidden"]
"""Shown in every prompt; found by the model when it searches; not offered at all."""
_VISIBILITIES = ("visible", "deferred", "hidden")
_UNITS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400}
_RATE = re.compile(r"\s*(\d+)\s*/\s*(\d*)\s*([a-z]+?)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Rate:
    """So many calls within so many seconds."""

    calls: int
    seconds: float


@dataclass(frozen=True)
class RateLimits:
    """How often a server may be called in one chat, and by one user. None: without limit."""

    chat: Rate | None = None
    user: Rate | None = None


@dataclass(frozen=True)
class ToolSettings:
    """What the owner says of one tool; None where it is as all tools of its server are."""

    description: str | None = None
    call_timeout: float | None = None
    visibility: Visibility | None = None


def read_rates(key: str, value: object) -> RateLimits:
    """Read `rate = { chat = "20/min", user = "5/min" }`."""
    if not isinstance(value, Mapping) or set(value) - {"chat", "user"}:
        raise EntryError(key, 'must be a table such as { chat = "20/min", user = "5/min" }')
    return RateLimits(**{who: _rate(f"{key}.{who}", text) for who, text in value.items()})


def read_overrides(key: str, value: object) -> dict[str, ToolSettings]:
    """Read the table `override`, which holds a table for each tool, by the server's own name for it."""
    if not isinstance(value, Mapping):
        raise EntryError(key, f"must be a table of tools, not {kind(value)}")
    return {str(tool): _settings(f"{key}.{tool}", table) for tool, table in value.items()}


def seconds(key: str, value: object) -> float:
    """Read a number of seconds above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise EntryError(key, "must be a number of seconds above 0")
    return float(value)


def _rate(key: str, value: object) -> Rate:
    match = _RATE.fullmatch(value) if isinstance(value, str) else None
    unit = _UNITS.get(match[3].lower()) if match else None
    calls, times = (int(match[1]), int(match[2] or 1)) if match else (0, 0)
    if unit is None or not calls or not times:
        raise EntryError(key, "must be a rate such as '20/min', '5/10s', '100/h' or '300/day'")
    return Rate(calls, float(times * unit))


def _settings(path: str, table: object) -> ToolSettings:
    if not isinstance(table, Mapping) or set(table) - _SETTINGS.keys():
        raise EntryError(path, f"must be a table with some of {', '.join(_SETTINGS)}")
    return ToolSettings(**{key: _SETTINGS[key](f"{path}.{key}", value) for key, value in table.items()})


def _description(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise EntryError(key, f"must be a string, not {kind(value)}")
    if not value.strip():
        raise EntryError(key, "is empty")
    return value


def _visibility(key: str, value: object) -> Visibility:
    if value not in _VISIBILITIES:
        raise EntryError(key, f"must be one of {', '.join(_VISIBILITIES)}")
    return cast("Visibility", value)


_SETTINGS: Mapping[str, Callable[[str, object], Any]] = {
    "description": _description,
    "call_timeout": seconds,
    "visibility": _visibility,
}
