"""Schemas without references: types, limits, defaults, combinators, keywords in the wrong shape.

Each entry is `name: (what is odd, schema)`. The generators of schemas in use (pydantic, zod, Go, Rust,
TypeScript tools, hand-written JSON) all produce some of these.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from wire import Message


def obj(properties: Message, **more: Any) -> Message:
    return {"type": "object", "properties": properties, **more}


def nest(depth: int) -> Message:
    """Build an object schema `depth` levels deep."""
    schema: Message = {"type": "string", "description": "the bottom"}
    for _ in range(depth):
        schema = obj({"child": schema})
    return schema


A = {"type": "string"}
B = {"type": "integer"}

SHAPES: dict[str, tuple[str, Any]] = {
    "empty_schema": ("The schema is {}.", {}),
    "only_type": ("The schema is {type: object} without properties.", {"type": "object"}),
    "null_keywords": (
        "properties, required and description are null.",
        {"type": "object", "properties": None, "required": None, "description": None},
    ),
    "properties_list": (
        "properties is an array (PHP writes an empty map so).",
        {"type": "object", "properties": []},
    ),
    "schema_true": ("The schema is `true`.", True),
    "boolean_property": ("Properties are `true` and `false`.", obj({"any": True, "never": False, "a": A})),
    "null_property": ("A property's schema is null.", obj({"a": A, "b": None})),
    "string_property": ('A property\'s schema is the text "string".', obj({"a": "string", "b": B})),
    "type_list": (
        "Types are lists with null (TypeScript, Go).",
        obj(
            {
                "a": {"type": ["string", "null"], "description": "maybe text"},
                "b": {"type": ["array", "null"], "items": {"type": ["object", "null"]}},
                "c": {"type": ["string", "integer"]},
                "d": {"type": ["null"]},
                "e": {"type": []},
            }
        ),
    ),
    "root_type_list": (
        'The root\'s type is ["object", "null"].',
        {"type": ["object", "null"], "properties": {"a": A}},
    ),
    "anyof_null": (
        "Optional values are anyOf with null, default null (pydantic).",
        obj(
            {
                "a": {"anyOf": [A, {"type": "null"}], "default": None, "title": "A"},
                "b": {"anyOf": [B, {"type": "null"}], "default": 3, "description": "how many"},
                "c": {"oneOf": [{"type": "null"}, {"type": "array", "items": A}]},
                "d": {"anyOf": [A, B, {"type": "null"}]},
            },
            required=["a"],
        ),
    ),
    "nullable": ("`nullable: true` as in OpenAPI 3.0.", obj({"a": {"type": "string", "nullable": True}})),
    "type_bogus": (
        "Types that do not exist: any, int, String, banana, a number.",
        obj(
            {
                "a": {"type": "any"},
                "b": {"type": "int"},
                "c": {"type": "String"},
                "d": {"type": "banana"},
                "e": {"type": 5},
                "f": {"type": "float", "description": "a float"},
                "g": {"type": "dict"},
            }
        ),
    ),
    "type_missing": (
        "Properties without a type; some can be told from other keywords.",
        obj(
            {
                "a": {"description": "no type"},
                "b": {},
                "c": {"properties": {"x": B}, "required": ["x"]},
                "d": {"items": A},
                "e": {"enum": ["x", "y"]},
                "f": {"const": 5},
            }
        ),
    ),
    "root_type_missing": (
        "The root has properties but no type.",
        {"properties": {"a": A}, "required": ["a"]},
    ),
    "array_bare": (
        "Arrays without items, with items true, {} or a list.",
        obj(
            {
                "a": {"type": "array"},
                "b": {"type": "array", "items": {}},
                "c": {"type": "array", "items": True},
                "d": {"type": "array", "items": [A, B]},
                "e": {"type": "array", "prefixItems": [A, B], "items": False},
            }
        ),
    ),
    "object_bare": (
        "Nested objects without properties, open, closed or with patterns.",
        obj(
            {
                "a": {"type": "object"},
                "b": {"type": "object", "additionalProperties": True},
                "c": {"type": "object", "additionalProperties": B},
                "d": {"type": "object", "patternProperties": {"^x-": A}, "propertyNames": {"maxLength": 5}},
            },
            additionalProperties=False,
        ),
    ),
    "numbers": (
        "Limits of numbers, formats of other languages, draft 4 exclusive limits.",
        obj(
            {
                "a": {"type": "integer", "exclusiveMinimum": 0},
                "b": {"type": "number", "minimum": -1.5, "maximum": 1e308, "multipleOf": 0.1},
                "c": {"type": "integer", "format": "uint64", "minimum": 0, "maximum": 18446744073709551615},
                "d": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
                "e": {"type": "integer", "minimum": "0"},
                "f": {"type": "number", "format": "double", "default": 0.5},
            }
        ),
    ),
    "strings": (
        "Limits, patterns and formats of strings.",
        obj(
            {
                "a": {"type": "string", "minLength": 1, "maxLength": 10, "pattern": "^[a-z]+$"},
                "b": {"type": "string", "pattern": "(?<!x)(?i:\\p{L}+)\\Z"},
                "c": {"type": "string", "format": "date-time"},
                "d": {"type": "string", "format": "no-such-format"},
                "e": {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"},
                "f": {"type": "string", "pattern": "[unclosed"},
            }
        ),
    ),
    "defaults": (
        "Defaults: null, of the wrong type, nested; examples; deprecated.",
        obj(
            {
                "a": {"type": "string", "default": None},
                "b": {"type": "integer", "default": "five"},
                "c": {"type": "object", "default": {"x": None}, "properties": {"x": A}},
                "d": {"type": "array", "items": B, "default": []},
                "e": {"type": "boolean", "default": False, "examples": [True], "deprecated": True},
                "f": {"type": "string", "const": "only"},
            },
            required=["a", "b"],
        ),
    ),
    "enums": (
        "Enums: mixed types, null, empty, without a type, of one value, doubled.",
        obj(
            {
                "a": {"enum": ["x", 1, None, True]},
                "b": {"type": "string", "enum": []},
                "c": {"type": "integer", "enum": ["1", "2"]},
                "d": {"type": "string", "enum": ["甲", "乙", "甲", ""]},
                "e": {"oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]},
                "f": {"type": "string", "enum": ["a", "b", None]},
            }
        ),
    ),
    "enum_huge": (
        "An enum of 2000 values.",
        obj({"a": {"type": "string", "enum": [f"v{n}" for n in range(2000)]}}),
    ),
    "required_odd": (
        "required: unknown names, doubles, other types.",
        obj({"a": A, "b": {**B, "required": True}}, required=["a", "a", "ghost", 5, None]),
    ),
    "required_true": ("required is `true` (draft 3).", obj({"a": A}, required=True)),
    "conditionals": (
        "if/then/else, dependentRequired, not, unevaluatedProperties inside and at the root.",
        obj(
            {"kind": {"type": "string", "enum": ["a", "b"]}, "x": B, "y": {"not": {"type": "null"}}},
            **{
                "if": {"properties": {"kind": {"const": "a"}}},
                "then": {"required": ["x"]},
                "else": {"properties": {"z": A}},
                "dependentRequired": {"x": ["y"]},
                "dependentSchemas": {"y": {"properties": {"w": B}}},
                "unevaluatedProperties": False,
                "minProperties": 1,
            },
        ),
    ),
    "top_anyof": (
        "anyOf at the root beside type object.",
        {
            "type": "object",
            "anyOf": [
                {"properties": {"a": A}, "required": ["a"]},
                {"properties": {"b": B}, "required": ["b"]},
            ],
        },
    ),
    "top_oneof_bare": (
        "oneOf at the root and no type (zod unions).",
        {
            "oneOf": [
                obj({"kind": {"const": "a"}, "a": A}, required=["kind", "a"]),
                obj({"kind": {"const": "b"}, "b": B}, required=["kind", "b"]),
            ],
            "discriminator": {"propertyName": "kind"},
        },
    ),
    "top_allof_if": (
        "allOf with an if at the root.",
        {
            "type": "object",
            "properties": {"a": A},
            "required": ["a"],
            "allOf": [
                {"properties": {"b": B}, "required": ["b"]},
                {"if": {"properties": {"a": {"const": "x"}}}, "then": {"required": ["c"]}},
                {"properties": {"c": {"type": "boolean"}}},
            ],
        },
    ),
    "top_enum": (
        "enum and not at the root.",
        obj({"a": A}, enum=[{"a": "x"}], **{"not": {"required": ["b"]}}),
    ),
    "nested_allof": (
        "allOf inside a property, of two objects.",
        obj({"p": {"allOf": [obj({"a": A}, required=["a"]), obj({"b": B})], "description": "both"}}),
    ),
    "root_array": ("The root is an array schema.", {"type": "array", "items": A}),
    "root_string": ("The root is a string schema.", {"type": "string"}),
    "trap_names": (
        "Properties are named like keywords: type, properties, $ref, required, items, default, $defs.",
        obj(
            {
                "type": {"type": "string", "enum": ["x"]},
                "properties": {"type": "object", "properties": {"$ref": A}},
                "$ref": {"type": "string", "description": "a git ref"},
                "required": {"type": "boolean"},
                "items": {"type": "array", "items": A},
                "default": B,
                "anyOf": A,
                "$defs": A,
                "title": A,
                "description": {"type": "string", "description": "what it is"},
            },
            required=["type", "$ref"],
        ),
    ),
    "descriptions_odd": (
        "Descriptions that are null, a number, a list, empty; titles only.",
        obj(
            {
                "a": {**A, "description": None},
                "b": {**A, "description": 5},
                "c": {**A, "description": ["x", "y"]},
                "d": {**A, "description": ""},
                "e": {**A, "title": "Only a title"},
            }
        ),
    ),
    "meta_keywords": (
        "$schema of draft 4, $id, $comment, x- keywords, readOnly.",
        obj(
            {"a": {**A, "x-order": 1, "readOnly": True, "$comment": "c"}},
            **{
                "$schema": "http://json-schema.org/draft-04/schema#",
                "$id": "https://example.invalid/s",
                "x-a": {},
            },
        ),
    ),
    "many_properties": (
        "400 properties.",
        obj({f"p{n}": {**A, "description": f"number {n}"} for n in range(400)}),
    ),
    "nested_deep": ("Objects nested 60 deep.", nest(60)),
    "nested_abyss": ("Objects nested 400 deep: a recursive walker may overflow.", nest(400)),
}
