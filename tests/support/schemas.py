"""Schemas to try: one with a parameter of each kind, valid ones, and junk."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.support.schema_checks import TYPES

STRICT = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "zip": {"type": "string"},
        "note": {"type": "string"},
        "level": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "where": {"type": "object", "properties": {"lat": {"type": "number"}, "name": {"type": "string"}}},
        "color": {"enum": ["Red", "Green"]},
    },
    "required": ["count"],
}


KEYWORDS = """
    type properties required items anyOf oneOf allOf not if then else $ref $defs definitions enum const
    default description title minimum exclusiveMinimum minLength pattern patternProperties
    additionalProperties dependencies dependentRequired dependentSchemas prefixItems additionalItems
    nullable format $id $anchor $schema uniqueItems multipleOf x-foo examples contains propertyNames
    $dynamicRef $comment unevaluatedProperties minContains $recursiveRef $vocabulary contentSchema
    unevaluatedItems readOnly maxItems a b D
""".split()


KEYWORDS += ["user id", "type\u200b"]


words = st.sampled_from(
    [
        "string",
        "object",
        "array",
        "null",
        "int",
        "banana",
        "#",
        "#/$defs/D",
        "#/properties/a",
        "#D",
        "a",
        "b",
        "[",
        "\ud800",
        "\u202e",
        "http://[",
        "#/$defs/D/properties/a",
        "#/anyOf/0",
        "http://json-schema.org/draft-07/schema#",
    ]
)


junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | words
    | st.text(max_size=3)
    | st.sampled_from([b"x", 10**400, 10**4000]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYWORDS) | st.text(max_size=2) | st.just(5), inner, max_size=5)
    ),
    max_leaves=20,
)


names = st.sampled_from(["a", "b", "user id", "user_id"])


types = st.sampled_from(sorted(TYPES))


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    listed = st.lists(inner, min_size=1, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": types | st.lists(types, min_size=1, max_size=3, unique=True),
            "properties": st.dictionaries(names, inner, max_size=3),
            "items": inner,
            "required": st.lists(names, max_size=1),
            "prefixItems": listed,
            "additionalProperties": inner,
            "anyOf": listed,
            "oneOf": listed,
            "allOf": listed,
            "not": inner,
            "contains": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "dependentSchemas": st.dictionaries(names, inner, max_size=1),
            "enum": st.lists(st.none() | st.integers(0, 3) | st.text(max_size=2), min_size=1, max_size=3),
            "const": st.none() | st.integers(0, 2),
            "minimum": st.integers(0, 3),
            "minLength": st.integers(0, 2),
            "default": st.none() | st.integers(),
            "description": st.text(max_size=5),
            "nullable": st.booleans(),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=1),
        },
    )


_refs = st.sampled_from(["#/$defs/D", "#", "#/properties/a", "#/definitions/E", "#gone"]).map(lambda r: {"$ref": r})


_leaves = st.booleans() | types.map(lambda word: {"type": word}) | _refs


subschemas = st.recursive(_leaves, _schemas, max_leaves=8)


valid_schemas = st.builds(
    lambda root, d, e: {
        **(root if isinstance(root, dict) else {}),
        "$defs": {"D": d},
        "definitions": {"E": e},
    },
    subschemas,
    subschemas,
    subschemas,
)
