"""The keywords of JSON Schema draft 2020-12, and what a single schema states by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from ...text.json_values import json_type

TYPES: Final = ("string", "integer", "number", "boolean", "object", "array", "null")

_ALIASES: Final = {
    "str": "string", "text": "string", "char": "string",
    "int": "integer", "int32": "integer", "int64": "integer", "uint": "integer", "long": "integer",
    "float": "number", "double": "number", "decimal": "number",
    "bool": "boolean",
    "dict": "object", "dictionary": "object", "map": "object", "record": "object", "struct": "object",
    "list": "array", "tuple": "array", "set": "array",
    "none": "null", "nil": "null",
}  # fmt: skip

MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SINGLES: Final = frozenset(
    {
        "not", "if", "then", "else", "contains", "propertyNames", "items", "contentSchema",
        "additionalProperties", "unevaluatedProperties", "unevaluatedItems",
    }
)  # fmt: skip
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
IN_PLACE_SINGLES: Final = ("not", "if", "then", "else")
DATA: Final = frozenset({"enum", "const", "default", "examples"})
"""Keywords whose values are data: they are not cleaned, and not searched for schemas."""

BY_TYPE: Final = {
    "string": frozenset(
        {"minLength", "maxLength", "pattern", "contentEncoding", "contentMediaType", "contentSchema"}
    ),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
    "array": frozenset(
        {
            "items", "prefixItems", "contains", "minContains", "maxContains", "minItems", "maxItems",
            "uniqueItems", "unevaluatedItems",
        }
    ),
    "object": frozenset(
        {
            "properties", "required", "additionalProperties", "patternProperties", "propertyNames",
            "minProperties", "maxProperties", "dependentRequired", "dependentSchemas",
            "unevaluatedProperties",
        }
    ),
}  # fmt: skip
"""Keywords that apply to values of one type only (`integer` shares those of `number`)."""


def type_word(word: object) -> str | None:
    """Return the JSON Schema type that a server means by `word`, None for "any" and unknown words."""
    if not isinstance(word, str):
        return None
    lowered = word.strip().lower()
    return lowered if lowered in TYPES else _ALIASES.get(lowered)


def type_words(declared: object) -> list[str]:
    """Return the types that a `type` keyword allows; an empty list means any type."""
    words = declared if isinstance(declared, list) else [declared]
    if any(isinstance(word, str) and word.strip().lower() == "any" for word in words):
        return []
    types = list(dict.fromkeys(found for word in words if (found := type_word(word))))
    if "number" in types and "integer" in types:
        types.remove("integer")
    return types


def keywords_of(kind: str) -> frozenset[str]:
    """Return the keywords that apply only to values of type `kind`."""
    return BY_TYPE.get("number" if kind == "integer" else kind, frozenset())


def listed_values(node: dict[str, Any]) -> list[Any]:
    """Return the values that a clean schema lists in its `enum`, else that of its `const`."""
    if "enum" in node:
        return list(node["enum"])
    return [node["const"]] if "const" in node else []


def enum_strings(node: dict[str, Any]) -> list[str]:
    """Return the listed values that an `enum` may hold for every model API: non-empty strings."""
    return [value for value in listed_values(node) if isinstance(value, str) and value]


def single_type(node: dict[str, Any]) -> str | None:
    """Return the one type of a clean schema: as stated, or as its keywords or values imply."""
    if "type" in node:
        return str(node["type"])
    if "anyOf" in node or "oneOf" in node:
        return None
    if kinds := {json_type(value) for value in listed_values(node)} - {"null"}:
        return kinds.pop() if len(kinds) == 1 else None
    return next((kind for kind, keywords in BY_TYPE.items() if keywords & node.keys()), None)


def subschemas(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schemas directly inside a well-formed one."""
    for key, value in node.items():
        if key in MAPS and isinstance(value, dict):
            yield from (schema for schema in value.values() if isinstance(schema, dict))
        elif key in LISTS and isinstance(value, list):
            yield from (schema for schema in value if isinstance(schema, dict))
        elif key in SINGLES and isinstance(value, dict):
            yield value


def map_subschemas(node: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a copy of a well-formed schema with `change` applied to each schema directly inside it."""
    copied: dict[str, Any] = {}
    for key, value in node.items():
        if key in MAPS and isinstance(value, dict):
            copied[key] = {name: change(schema) for name, schema in value.items()}
        elif key in LISTS and isinstance(value, list):
            copied[key] = [change(schema) for schema in value]
        elif key in SINGLES and isinstance(value, dict):
            copied[key] = change(value)
        else:
            copied[key] = value
    return copied
