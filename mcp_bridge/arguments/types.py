"""Convert one value to one JSON type, or to the one listed value it must mean."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..text.json_values import DROPPED, Copier, json_type, read_json, same_json

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,64}(\.0+)?")
_NUMBER: Final = re.compile(r"[+-]?([0-9]{1,64}(\.[0-9]{0,64})?|\.[0-9]{1,64})([eE][+-]?[0-9]{1,3})?")
MAX_ENCODINGS: Final = 3
"""JSON text inside JSON text inside ...: models and gateways between them encode twice, never more."""
_MAX_JSON_TEXT: Final = 1_000_000
_SPACE: Final = " \t\r\n"


def convert(value: Any, wanted: str) -> Any:
    """Return the value as the JSON type `wanted` when it can mean nothing else, or DROPPED."""
    if wanted == "string":
        return _text_of(value)
    if not isinstance(value, str):
        return DROPPED
    text = value.strip(_SPACE)
    match wanted:
        case "integer":
            return int(text.partition(".")[0]) if _INTEGER.fullmatch(text) else DROPPED
        case "number":
            return _number(text)
        case "boolean":
            return {"true": True, "false": False}.get(text.lower(), DROPPED)
        case "null":
            return None if text == "null" else DROPPED
        case "object" | "array":
            return _decoded(text, wanted)
        case _:
            return DROPPED


def _text_of(value: object) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() <= 1024:
        return str(value)
    return json.dumps(value) if isinstance(value, float) and math.isfinite(value) else DROPPED


def _number(text: str) -> Any:
    if re.fullmatch(r"[+-]?[0-9]{1,64}", text):
        return int(text)  # an identifier of 20 digits would lose its last ones as a float
    if not _NUMBER.fullmatch(text):
        return DROPPED
    number = float(text)
    return number if math.isfinite(number) else DROPPED


def _decoded(text: str, wanted: str) -> Any:
    if len(text) > _MAX_JSON_TEXT:
        return DROPPED
    decoded: Any = text
    for _ in range(MAX_ENCODINGS):
        if not isinstance(decoded, str) or not decoded.startswith(("{" if wanted == "object" else "[", '"')):
            break
        try:
            decoded = Copier().copy(read_json(decoded))
        except (ValueError, RecursionError):
            return DROPPED
    return decoded if json_type(decoded) == wanted else DROPPED


class Listed:
    """The values that a schema lists, looked up at once however many there are."""

    def __init__(self, members: Sequence[Any]) -> None:
        self._scalars: dict[object, Any] = {}
        self._compound: list[Any] = []
        self._folded: dict[str, list[str]] = {}
        for member in members:
            if (key := _key(member)) is None:
                self._compound.append(member)
            elif key not in self._scalars:
                self._scalars[key] = member
                if isinstance(member, str):
                    self._folded.setdefault(_fold(member), []).append(member)
        self._kinds = dict.fromkeys(json_type(member) for member in members if not isinstance(member, str))

    def __contains__(self, value: object) -> bool:
        if (key := _key(value)) is not None:
            return key in self._scalars
        return any(same_json(value, member) for member in self._compound)

    def meant(self, value: Any) -> Any:
        """Return the one listed value that `value` must mean, else the value itself."""
        if value in self:
            return value
        if not isinstance(value, str):
            text = convert(value, "string")
            return text if text is not DROPPED and text in self else value
        found: list[Any] = list(self._folded.get(_fold(value), ()))
        for kind in self._kinds:
            converted = DROPPED if kind is None else convert(value, kind)
            if converted is not DROPPED and converted in self and converted not in Listed(found):
                found.append(self._scalars.get(_key(converted), converted))
        return found[0] if len(found) == 1 else value


def enum_member(value: Any, schema: Mapping[str, Any], listed: Listed | None) -> Any:
    """Return the one value listed in a schema that `value` must mean, else the value itself."""
    if listed is None or (value is None and schema.get("nullable") is True):
        return value
    return listed.meant(value)


def _key(value: object) -> object:
    """Return what a scalar is looked up by, as JSON Schema compares; None for everything else."""
    if isinstance(value, bool):
        return ("boolean", value)
    if value is None or isinstance(value, (int, float, str)):
        return (json_type(value) == "string", value)
    return None


def _fold(text: str) -> str:
    return text.strip().casefold()
