"""Flatten a shown schema for hosts that know four types of parameters, and decode the arguments again.

Such a host has text, whole numbers, numbers and yes/no, with a description and at most a list of texts
to choose from. Objects and arrays are requested as JSON text, with their schema in the description.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from ...text.cleaning import truncate
from ...text.json_values import DROPPED
from .convert import convert
from .strict import ANY_VALUE

FlatKind = Literal["string", "integer", "number", "boolean"]

MAX_SHAPE_CHARS: Final = 4_000
"""Longest schema in a description, in characters of JSON; longer ones are cut."""

_NESTED: Final = ("object", "array")
_ANYTHING: Final = frozenset({"string", *_NESTED})


@dataclass(frozen=True)
class FlatParameter:
    """A parameter of one of four types; `description` is never empty, `enum` contains strings only."""

    name: str
    kind: FlatKind
    description: str
    required: bool
    enum: list[str] | None


def flatten(schema: Mapping[str, Any]) -> list[FlatParameter]:
    """Return the parameters of a schema of the strict profile, in its order."""
    required = schema.get("required", ())
    return [_flat(name, _one_branch(one), name in required) for name, one in schema["properties"].items()]


def unflatten(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the arguments with the JSON text decoded that `flatten` has requested.

    Text that is not JSON of a wanted type stays unchanged, as do values that are objects or arrays already.
    """
    return {name: _decoded(value, schema["properties"].get(name)) for name, value in arguments.items()}


def _decoded(value: Any, schema: Any) -> Any:
    if isinstance(value, str) and isinstance(schema, Mapping):
        for kind in _NESTED:
            if kind in _kinds(schema) and (decoded := convert(value, kind)) is not DROPPED:
                return decoded
    return value


def _flat(name: str, schema: Mapping[str, Any], required: bool) -> FlatParameter:
    kinds = _kinds(schema)
    description = schema.get("description") or name
    if not kinds.isdisjoint(_NESTED):
        description = f"{description} ({_ask_for_json(schema, kinds)})"
    values = schema.get("enum")
    enum = values if values and all(isinstance(value, str) for value in values) else None
    return FlatParameter(name, _flat_kind(kinds), description, required, enum)


def _flat_kind(kinds: frozenset[str]) -> FlatKind:
    if kinds == {"integer", "number"}:
        return "number"
    if len(kinds) == 1 and kinds <= {"integer", "number", "boolean"}:
        return cast(FlatKind, next(iter(kinds)))
    return "string"


def _kinds(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the JSON types that a value may have, without null."""
    if isinstance(kind := schema.get("type"), str):
        return frozenset({kind} - {"null"})
    branches = schema.get("anyOf")
    if branches == list(ANY_VALUE):
        return _ANYTHING
    return frozenset().union(*map(_kinds, branches)) if branches else _ANYTHING


def _one_branch(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the other branch of a schema that allows one schema or null."""
    branches = [branch for branch in schema.get("anyOf", ()) if branch.get("type") != "null"]
    if len(branches) != 1:
        return schema
    return {**branches[0], **{key: value for key, value in schema.items() if key != "anyOf"}}


def _ask_for_json(schema: Mapping[str, Any], kinds: frozenset[str]) -> str:
    shape = {key: value for key, value in schema.items() if key != "description"}
    text = truncate(json.dumps(shape, ensure_ascii=False, separators=(",", ":")), MAX_SHAPE_CHARS)
    is_any = shape.get("anyOf") == list(ANY_VALUE)
    what = "JSON text of an object or array" if is_any else f"JSON text of this schema: {text}"
    return f"plain text, or {what}" if "string" in kinds else what
