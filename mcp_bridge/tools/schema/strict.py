"""Reduce a clean schema to the few keywords that every model API accepts: the `strict` profile.

The allow-list is what OpenAI's strict mode and Gemini's function declarations have in common. Not in it:
`additionalProperties` and `$ref`, which Gemini refuses; `nullable` and `oneOf`, which OpenAI refuses;
limits, formats, patterns and defaults, which one or the other refuses: the description states those, where
every model reads them. Gemini accepts an `enum` of non-empty strings only; the description lists other values.
Gemini also refuses schemas without a type, so each has one, or alternatives that have one: a parameter of any
type is shown as text, number or yes/no, and what is cut off as JSON text, which arguments repair by the
server's own schema decodes again. An optional parameter that may be null is shown without the null: a model
omits it instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...text.cleaning import clean_label
from ...text.json_values import json_type, same_json
from .clean import MAX_NODES, TooLarge
from .keywords import enum_strings, listed_values, single_type
from .merge import merge_object, resolve
from .notes import limit_notes, with_notes

ALLOWED: Final = ("type", "description", "properties", "required", "items", "enum", "anyOf")

ANY_VALUE: Final = ({"type": "string"}, {"type": "number"}, {"type": "boolean"})
"""Alternatives shown for a schema that allows anything. No object: Gemini refuses one without properties."""

_PLAIN: Final = ("string", "integer", "number", "boolean")
_COMBINED: Final = ("anyOf", "oneOf", "if", "dependentSchemas")
_NOT_SHOWN: Final = ("not", "contains", "propertyNames", "dependentRequired", "patternProperties")


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
        """Return the reduced copy of a schema; `inside` are the references being inlined around it.

        With `as_object` an object is shown as one even if it has no properties.
        """
        self._count()
        if depth <= 0:
            return _cut_off(schema)
        node, inside, repeated = self._unfold(schema, inside, depth)
        if repeated:
            return self._json_text(node, f"JSON text of the same shape as {repeated} above")
        node, inside = self._plain(node, inside)
        kept = self._head(node)
        if node.get("type") == "object" and not node.get("properties") and not as_object:
            return self._json_text(kept, "JSON text of an object")  # Gemini refuses it as an object
        match kept.get("type"):
            case "object":
                self._object(node, kept, inside, depth)
            case "array":
                self._array(node, kept, inside, depth)
            case None:
                self._union(node, kept, inside, depth)
        strings = enum_strings(node)
        if "type" not in kept and "anyOf" not in kept:
            kept.update({"type": "string"} if strings else {"anyOf": [dict(one) for one in ANY_VALUE]})
        if kept.get("type") == "string" and strings:
            kept["enum"] = strings
        return kept

    def _plain(self, node: dict[str, Any], inside: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return a schema without combinators where it describes an object or values; warn of what is lost."""
        if _is_object(node) and any(key in node for key in _COMBINED):
            node, inside = self._without_repeats(node, inside)
            node = merge_object(node, self._warn, self._document)
        node = self._gathered(node)
        for key in _NOT_SHOWN:
            if key in node:
                self._warn(f"{key} is not shown in the strict profile")
        return node, inside

    def _head(self, node: dict[str, Any]) -> dict[str, Any]:
        """Return the type of a schema, if it is a single one, and its description with its limits."""
        head: dict[str, Any] = {"type": kind} if (kind := single_type(node)) else {}
        description = node.get("description") or node.get("title") or ""
        if notes := limit_notes(node):
            description = with_notes(description, notes, self._max_text)
        if description:
            head["description"] = description
        return head

    def _json_text(self, node: dict[str, Any], note: str) -> dict[str, Any]:
        """Show a schema as text; the server's own schema turns what a model writes there back into a value."""
        return {"type": "string", "description": with_notes(node.get("description", ""), [note], self._max_text)}

    def _count(self) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise TooLarge

    def _unfold(
        self, schema: dict[str, Any], inside: tuple[str, ...], depth: int
    ) -> tuple[dict[str, Any], tuple[str, ...], str]:
        """Lay a schema, its reference and its `allOf` over each other.

        Also return the references now being inlined, and the name of one that was being inlined already.
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
        """Return a schema with one `enum` in place of alternatives that list the values one by one."""
        branches = [self._referred(branch) for key in ("anyOf", "oneOf") for branch in node.get(key, ())]
        if listed_values(node) or not branches or not all(map(listed_values, branches)):
            return node
        values: list[Any] = []
        for branch in branches:
            values.extend(value for value in listed_values(branch) if not any(same_json(value, one) for one in values))
        if len({json_type(value) for value in values} - {"null"}) > 1:
            return node  # Gemini and OpenAI enforce an enum: a model could not write values outside of it
        return {**{key: value for key, value in node.items() if key not in ("anyOf", "oneOf")}, "enum": values}

    def _referred(self, branch: dict[str, Any]) -> dict[str, Any]:
        ref = branch.get("$ref")
        return branch if not isinstance(ref, str) else resolve(self._document, ref) or {}

    def _without_repeats(self, node: dict[str, Any], inside: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Leave out alternatives that are being inlined already, and count the others as being inlined."""
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
        # An object shown as JSON text beside a text would stay text.
        has_text = any(single_type(self._referred(branch)) in (None, "string") for branch in branches)
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
    """Return one schema for two that both apply; if they differ in a keyword, the first takes precedence."""
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


def _is_object(node: dict[str, Any]) -> bool:
    return node.get("type", "object") == "object" and ("type" in node or "properties" in node)


def _cut_off(schema: dict[str, Any]) -> dict[str, Any]:
    kind = single_type(schema)
    if kind in _PLAIN:
        return {"type": kind}
    return {"type": "string", "description": "JSON text (nested too deeply to show)"}
