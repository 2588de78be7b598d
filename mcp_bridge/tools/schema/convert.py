"""Convert one value to one JSON type."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

from ...text.json_values import DROPPED, JsonCopier, json_type, read_json

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,64}(\.0+)?")
_NUMBER: Final = re.compile(r"[+-]?([0-9]{1,64}(\.[0-9]{0,64})?|\.[0-9]{1,64})([eE][+-]?[0-9]{1,3})?")
MAX_ENCODINGS: Final = 3
"""Levels of JSON text inside JSON text that are decoded; models and gateways together encode twice at most."""
_MAX_JSON_TEXT: Final = 1_000_000
_SPACE: Final = " \t\r\n"


def convert(value: Any, wanted: str) -> Any:
    """Return the value as the JSON type `wanted` if the conversion is unambiguous, else DROPPED."""
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
        return int(text)  # a float would lose the last digits of a long identifier
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
            decoded = JsonCopier().copy(read_json(decoded))
        except (ValueError, RecursionError):
            return DROPPED
    return decoded if json_type(decoded) == wanted else DROPPED
