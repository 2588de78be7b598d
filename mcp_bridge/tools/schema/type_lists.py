"""Replace a list of types by one type, or by an `anyOf` with a branch for each: model APIs refuse the list."""

from __future__ import annotations

from typing import Any, Final

from ...text.json_values import json_type
from .keywords import BY_TYPE, keywords_of, listed_values

_MANY: Final = 6
"""Of the seven types: a list this long excludes next to nothing, and is left out."""

_INNER: Final = frozenset({"enum", "const", "format", "anyOf"}).union(*BY_TYPE.values())
"""Keywords that go into the branches; others stay beside the `anyOf`."""


def one_type(clean: dict[str, Any]) -> dict[str, Any]:
    """Return a clean schema whose list of types is one type, the branches of an `anyOf`, or left out."""
    types = _possible_types(clean)
    if len(types) == 1:
        return _with_items({**clean, "type": types[0]})
    rest = {key: value for key, value in clean.items() if key != "type"}
    not_null = [kind for kind in types if kind != "null"]
    if not types or len(types) >= _MANY or ("anyOf" in clean and len(not_null) > 1):
        return rest
    outer = {key: value for key, value in rest.items() if key not in _INNER}
    inner = {key: value for key, value in rest.items() if key in _INNER}
    return {**outer, "anyOf": [_branch(kind, inner, not_null) for kind in types]}


def _possible_types(clean: dict[str, Any]) -> list[str]:
    """Return the types that a schema allows and that one of its listed values has."""
    types: list[str] = clean.get("type", [])
    if "const" not in clean and "enum" not in clean:
        return types
    listed = listed_values(clean)
    return [kind for kind in types if any(_is_of(value, kind) for value in listed)] or types[:1]


def _branch(kind: str, inner: dict[str, Any], not_null: list[str]) -> dict[str, Any]:
    """Return the branch for one type: its own keywords, and for the first type also those of no type."""
    if kind == "null":
        return {"type": "null"}
    own = keywords_of(kind)
    of_others = frozenset[str]().union(*map(keywords_of, not_null)) - own
    branch: dict[str, Any] = {"type": kind}
    for key, value in inner.items():
        if key == "enum":
            branch[key] = [member for member in value if _is_of(member, kind)]
        elif key in own or (kind == not_null[0] and key not in of_others):
            branch[key] = value
    return _with_items(branch)


def _with_items(schema: dict[str, Any]) -> dict[str, Any]:
    """Add `items` to an array that has none: OpenAI refuses it otherwise."""
    return {**schema, "items": schema.get("items", {})} if schema["type"] == "array" else schema


def _is_of(value: object, kind: str) -> bool:
    found = json_type(value)
    return found == kind or (found == "integer" and kind == "number")
