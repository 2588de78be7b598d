"""The few keywords that every model API takes, and what becomes of all others."""

from __future__ import annotations

import pytest

from mcp_bridge.tools.arguments.repair import repair_arguments
from tests.support.schema_checks import shown

ANY = [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]
TREE = {"type": "object", "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#"}}}}
AGAIN = "JSON text of the same shape as root above"


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, {"anyOf": ANY}),
        (True, {"anyOf": ANY}),
        ({"description": "what"}, {"description": "what", "anyOf": ANY}),
        ({"enum": ["a", 1]}, {"type": "string", "description": "(or 1)", "enum": ["a"]}),
        ({"enum": [1, True]}, {"description": "(one of 1, true)", "anyOf": ANY}),
        ({"type": "integer", "enum": ["1", 2]}, {"type": "integer", "description": "(one of 1, 2)"}),
        ({"type": "array"}, {"type": "array", "items": {"anyOf": ANY}}),
        ({"type": "array", "items": True}, {"type": "array", "items": {"anyOf": ANY}}),
        ({"anyOf": [{"type": "string"}, {}]}, {"anyOf": [{"type": "string"}, {"anyOf": ANY}]}),
        ({"type": "object"}, {"type": "string", "description": "(JSON text of an object)"}),
        (
            {"anyOf": [{"type": "object"}, {"type": "null"}], "description": "Headers."},
            {"type": "string", "description": "Headers. (JSON text of an object)"},
        ),
        (
            {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "description": "How many."},
            {"type": "integer", "description": "How many. (>= 1)"},
        ),
        (  # text beside it would be taken for text
            {"anyOf": [{"type": "string"}, {"type": "object"}]},
            {"anyOf": [{"type": "string"}, {"type": "object", "properties": {}}]},
        ),
        (
            {"type": "array", "items": {"type": "object", "additionalProperties": True, "description": "Row."}},
            {"type": "array", "items": {"type": "string", "description": "Row. (JSON text of an object)"}},
        ),
    ],
)
def test_in_the_strict_profile_everything_has_a_type_since_gemini_refuses_what_has_none(
    schema: object, expected: object
) -> None:
    assert shown({"properties": {"p": schema}}, profile="strict")["properties"]["p"] == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            {"type": "string", "oneOf": [{"const": "fast", "title": "Fast"}, {"const": "slow"}]},
            {"type": "string", "enum": ["fast", "slow"]},
        ),
        (
            {"type": "string", "anyOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]},
            {"type": "string", "enum": [*"abc"]},
        ),
        ({"type": "string", "oneOf": [{"$ref": "#/$defs/A"}, {"const": "b"}]}, {"type": "string", "enum": ["a", "b"]}),
        ({"anyOf": [{"const": "a"}, {"const": "b"}]}, {"type": "string", "enum": ["a", "b"]}),
        (  # a model that is held to an enum could not say the numbers
            {"anyOf": [{"type": "string", "enum": ["auto"]}, {"type": "integer", "enum": [1, 2]}]},
            {"anyOf": [{"type": "string", "enum": ["auto"]}, {"type": "integer", "description": "(one of 1, 2)"}]},
        ),
        (
            {"type": "integer", "oneOf": [{"const": 1, "title": "low"}, {"const": 2}]},
            {"type": "integer", "description": "(one of 1, 2)"},
        ),
        (
            {"type": "array", "items": {"type": "string", "oneOf": [{"const": "x"}, {"const": "y"}]}},
            {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
        ),
    ],
)
def test_values_that_are_listed_one_by_one_with_their_titles_are_told_in_the_strict_profile(
    schema: object, expected: object
) -> None:
    """A model that is not told the values makes some up."""
    document = {"properties": {"p": schema}, "$defs": {"A": {"const": "a"}}}
    assert shown(document, profile="strict")["properties"]["p"] == expected


def test_json_text_in_place_of_what_was_cut_arrives_as_what_the_server_wants() -> None:
    kids = shown(TREE, profile="strict")["properties"]["kids"]["items"]["properties"]["kids"]
    assert kids == {"type": "array", "items": {"type": "string", "description": f"({AGAIN})"}}
    sent = {"v": 1, "kids": [{"v": 2, "kids": ['{"v": 3, "kids": []}']}]}
    assert repair_arguments(sent, TREE) == {"v": 1, "kids": [{"v": 2, "kids": [{"v": 3, "kids": []}]}]}


def test_the_strict_profile_tells_the_limits_it_drops() -> None:
    schema = {
        "properties": {
            "a": {"type": "integer", "exclusiveMinimum": 0, "description": "How many."},
            "b": {
                "type": ["string", "null"],
                "minLength": 1,
                "maxLength": 20,
                "format": "date",
                "pattern": "^x",
            },
            "c": {"const": "on"},
            "d": {"enum": [1, 2]},
            "e": {"type": "array", "items": {}, "minItems": 1},
            "f": {"allOf": [{"type": "string"}, {"maxLength": 5}], "default": "x"},
            "g": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            "h": {"type": ["integer", "null"]},
        },
        "required": ["h"],
        "additionalProperties": False,
    }
    result = shown(schema, profile="strict")
    assert result == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "How many. (> 0)"},
            "b": {"type": "string", "description": "(length 1-20; format: date; pattern: ^x)"},
            "c": {"type": "string", "enum": ["on"]},
            "d": {"type": "integer", "description": "(one of 1, 2)"},
            "e": {"type": "array", "description": "(items: >= 1)", "items": {"anyOf": ANY}},
            "f": {"type": "string", "description": "(length <= 5; default: x)"},
            "g": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "h": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["h"],
    }
