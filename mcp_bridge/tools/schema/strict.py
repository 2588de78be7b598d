"""Reduce a clean schema to the few keywords that every model API takes: the `strict` profile.

The allow-list is what OpenAI's strict mode and Gemini's function declarations have in common. Not in it:
`additionalProperties` and `$ref`, which Gemini refuses; `nullable` and `oneOf`, which OpenAI refuses;
limits, formats, patterns and defaults, which one or the other refuses: those are told in the description,
where every model reads them. Gemini takes an `enum` of non-empty strings only; other values are told too.
Gemini also refuses whatever has no type, so each schema has one, or alternatives that have: what may be
anything is shown as text, number or yes/no, and what is cut off as JSON text, which the server's own schema
turns back into what it wants. An optional parameter that may be null is shown without the null: a model
leaves it out instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from ...text.cleaning import clean_label, truncate
from ...text.json_values import json_type, same_json
from .clean import MAX_NODES, TooLarge, with_notes
from .keywords import BY_TYPE
from .merge import merge_object, resolve

ALLOWED: Final = ("type", "description", "properties", "required", "items", "enum", "anyOf")

ANY_VALUE: Final = ({"type": "string"}, {"type": "number"}, {"type": "boolean"})
"""Alternatives shown for a schema that allows anything. No object: Gemini wants to be told its properties."""

_PLAIN: Final = ("string", "integer", "number", "boolean")
_COMBINED: Final = ("anyOf", "oneOf", "if", "dependentSchemas")
_UNTOLD: Final = ("not", "contains", "propertyNames", "dependentRequired", "patternProperties")
_MAX_NOTE_CHARS: Final = 120


def strict(document: dict[str, Any], *, max_depth: int, max_text: int, warn: Callable[[str], None]) -> dict[str, Any]:
    """Return the reduced copy of a clean document with all references inlined; raises TooLarge."""
    reducer = _Reducer(document, max_text, warn)
    return {"type": "object", "properties": {}, **reducer.reduce(document, (), max_depth, as_object=True)}


class _Reducer:
    def __init__(self, document: dict[str, Any], max_text: int, warn: Callable[[str], None]) -> None:
        self._document = document
        self._max_text = max_text
        self._warn = warn
        self._nodes = 0

    def reduce(
        self, schema: dict[str, Any], inside: tuple[str, ...], depth: int, *, as_object: bool = False
    ) -> dict[str, Any]:
        """Return the reduced copy; `as_object` tells to show an object as one even if it has no properties."""
        self._count()
        if depth <= 0:
            kind = _kind(schema)
            return {"type": kind} if kind in _PLAIN else _json_text("nested too deeply to show")
        node, inside, repeats = self._unfold(schema, inside, depth)
        if repeats:
            note = f"JSON text of the same shape as {repeats} above"
            return {"type": "string", "description": with_notes(node.get("description", ""), [note], self._max_text)}
        is_object = node.get("type", "object") == "object" and ("type" in node or "properties" in node)
        if is_object and any(key in node for key in _COMBINED):
            node, inside = self._without_repeats(node, inside)
            node = merge_object(node, self._warn, self._document)
        node = self._gathered(node)
        kept: dict[str, Any] = {"type": kind} if (kind := _kind(node)) else {}
        described = node.get("description") or node.get("title") or ""
        if notes := _notes(node):
            described = with_notes(described, notes, self._max_text)
        if described:
            kept["description"] = described
        for key in _UNTOLD:
            if key in node:
                self._warn(f"{key} is not shown in the strict profile")
        if node.get("type") == "object" and not node.get("properties") and not as_object:
            return self._free_object(kept)
        if kind == "object":
            self._object(node, kept, inside, depth)
        elif kind == "array":
            self._array(node, kept, inside, depth)
        elif kind is None:
            self._union(node, kept, inside, depth)
        if "type" not in kept and "anyOf" not in kept:
            kept.update({"type": "string"} if _listed(node) else {"anyOf": [dict(one) for one in ANY_VALUE]})
        if kept.get("type") == "string" and (listed := _listed(node)):
            kept["enum"] = listed
        return kept

    def _count(self) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise TooLarge

    def _unfold(
        self, schema: dict[str, Any], inside: tuple[str, ...], depth: int
    ) -> tuple[dict[str, Any], tuple[str, ...], str]:
        """Lay a schema, its reference and its allOf over each other.

        Also returns the references now open, and the name of one that was open already.
        """
        self._count()
        node = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
        parts = list(schema.get("allOf", ())) if depth > 0 else []
        if isinstance(ref := schema.get("$ref"), str):
            if ref in inside:
                return node, inside, clean_label(ref.rsplit("/", 1)[-1])[:64]
            inside = (*inside, ref)
            parts.insert(0, resolve(self._document, ref) or {})
        for part in parts:
            unfolded, inside, repeats = self._unfold(part, inside, depth - 1)
            if not repeats:
                node = _lay(node, unfolded)
        return node, inside, ""

    def _gathered(self, node: dict[str, Any]) -> dict[str, Any]:
        """Return a schema with the values that its alternatives list one by one, each with a title perhaps."""
        branches = [self._referred(branch) for key in ("anyOf", "oneOf") for branch in node.get(key, ())]
        if _enum(node) or not branches or not all(map(_enum, branches)):
            return node
        values: list[Any] = []
        for branch in branches:
            values.extend(value for value in _enum(branch) if not any(same_json(value, one) for one in values))
        if len({json_type(value) for value in values} - {"null"}) > 1:
            return node  # Gemini and OpenAI hold a model to an enum: values beside it could not be said
        return {**{key: value for key, value in node.items() if key not in ("anyOf", "oneOf")}, "enum": values}

    def _referred(self, branch: dict[str, Any]) -> dict[str, Any]:
        ref = branch.get("$ref")
        return branch if not isinstance(ref, str) else resolve(self._document, ref) or {}

    def _free_object(self, kept: dict[str, Any]) -> dict[str, Any]:
        """Show an object with any members as JSON text: Gemini refuses an object without properties."""
        note = "JSON text of an object"
        return {"type": "string", "description": with_notes(kept.get("description", ""), [note], self._max_text)}

    def _without_repeats(self, node: dict[str, Any], inside: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Leave out alternatives that are being inlined already, and count the others as open."""
        opened: list[str] = []
        for key in ("anyOf", "oneOf"):
            if key in node:
                kept = [branch for branch in node[key] if branch.get("$ref") not in inside]
                node = {**{k: v for k, v in node.items() if k != key}, **({key: kept} if kept else {})}
                opened.extend(branch["$ref"] for branch in kept if "$ref" in branch)
        return node, (*inside, *opened)

    def _object(self, node: dict[str, Any], kept: dict[str, Any], inside: tuple[str, ...], depth: int) -> None:
        properties = node.get("properties", {})
        required = [name for name in dict.fromkeys(node.get("required", ())) if name in properties]
        kept["properties"] = {}
        for name, schema in properties.items():
            wanted = schema if name in required else _without_null(schema)
            kept["properties"][name] = self.reduce(wanted, inside, depth - 1)
        if required:
            kept["required"] = required

    def _array(self, node: dict[str, Any], kept: dict[str, Any], inside: tuple[str, ...], depth: int) -> None:
        positional = node.get("prefixItems", [])
        items = node.get("items", {})
        if positional:
            kinds: list[dict[str, Any]] = []
            for schema in [*positional, *([items] if items else [])]:
                if (reduced := self.reduce(schema, inside, depth - 1)) not in kinds:
                    kinds.append(reduced)
            kept["items"] = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
        else:
            kept["items"] = self.reduce(items if isinstance(items, dict) else {}, inside, depth - 1)

    def _union(self, node: dict[str, Any], kept: dict[str, Any], inside: tuple[str, ...], depth: int) -> None:
        reduced: list[dict[str, Any]] = []
        branches = [*node.get("anyOf", ()), *node.get("oneOf", ())]
        # Beside text, JSON text would be taken for just that.
        has_text = any(_kind(self._referred(branch)) in (None, "string") for branch in branches)
        for schema in branches:
            if (branch := self.reduce(schema, inside, depth - 1, as_object=has_text)) not in reduced:
                reduced.append(branch)
        if len(reduced) == 1:
            inner = reduced[0].get("description", "")
            if "description" in kept and inner and inner not in kept["description"]:
                note = inner.removeprefix("(").removesuffix(")")
                kept["description"] = with_notes(kept["description"], [note], self._max_text)
            kept.update({key: value for key, value in reduced[0].items() if key not in kept})
        elif reduced:
            kept["anyOf"] = reduced


def _lay(over: dict[str, Any], under: dict[str, Any]) -> dict[str, Any]:
    """Return one schema for two that both hold; where they differ on a keyword the first one counts."""
    laid = {**under, **over}
    if "required" in over and "required" in under:
        laid["required"] = list(dict.fromkeys([*over["required"], *under["required"]]))
    if "properties" in over and "properties" in under:
        both = over["properties"].keys() & under["properties"].keys()
        laid["properties"] = {**over["properties"], **under["properties"]}
        for name in both:
            laid["properties"][name] = {"allOf": [over["properties"][name], under["properties"][name]]}
    return laid


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    for key in ("anyOf", "oneOf"):
        kept = [branch for branch in schema.get(key, ()) if branch.get("type") != "null"]
        if kept:
            schema = {**schema, key: kept}
    return schema


def _enum(node: dict[str, Any]) -> list[Any]:
    return node["enum"] if "enum" in node else [node["const"]] if "const" in node else []


def _listed(node: dict[str, Any]) -> list[str]:
    return [value for value in _enum(node) if isinstance(value, str) and value]


def _json_text(why: str) -> dict[str, Any]:
    return {"type": "string", "description": f"JSON text ({why})"}


def _kind(node: dict[str, Any]) -> str | None:
    """Return the one type of a schema: as stated, or as its keywords or values suggest."""
    if "type" in node:
        return str(node["type"])
    if "anyOf" in node or "oneOf" in node:
        return None
    if kinds := {json_type(value) for value in _enum(node)} - {"null"}:
        return kinds.pop() if len(kinds) == 1 else None
    return next((kind for kind, keywords in BY_TYPE.items() if keywords & node.keys()), None)


def _notes(node: dict[str, Any]) -> list[str]:
    """Return the limits of a schema in words."""
    told = [
        f"{sign} {_short(node[key])}"
        for key, sign in (
            ("exclusiveMinimum", ">"), ("minimum", ">="), ("exclusiveMaximum", "<"), ("maximum", "<="),
            ("multipleOf", "multiple of"),
        )
        if key in node
    ]  # fmt: skip
    for low, high, what in (
        ("minLength", "maxLength", "length"),
        ("minItems", "maxItems", "items:"),
        ("minProperties", "maxProperties", "properties:"),
    ):
        if low in node and high in node:
            told.append(f"{what} {node[low]}-{node[high]}")
        elif low in node or high in node:
            told.append(f"{what} >= {node[low]}" if low in node else f"{what} <= {node[high]}")
    if node.get("uniqueItems"):
        told.append("no item twice")
    told.extend(f"{key}: {_short(node[key])}" for key in ("format", "pattern", "default") if key in node)
    listed = _listed(node) if _kind(node) in (None, "string") else []
    if unlisted := [value for value in _enum(node) if value not in listed]:
        strings = len(unlisted) < len(_enum(node))
        values = truncate(", ".join(map(_short, unlisted)), 2 * _MAX_NOTE_CHARS)
        told.append(f"or {values}" if strings else f"one of {values}")
    if node.get("nullable"):
        told.append("or null")
    if isinstance(free := node.get("additionalProperties"), dict) and not node.get("properties"):
        told.append(f"any names, each with a value of type {free['type']}" if "type" in free else "any names")
    return told


def _short(value: object) -> str:
    shown = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    return truncate(clean_label(shown), _MAX_NOTE_CHARS)
