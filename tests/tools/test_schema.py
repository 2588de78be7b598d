"""What servers call an input schema, and what a model API is given instead."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mcp_bridge.tools.schema.shown import UnusableSchema, rename_parameters, show
from tests.support.schema_checks import EMPTY, assert_sendable, shown


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {},
        [],
        "x",
        5,
        True,
        {"type": "object"},
        {"properties": None, "required": None},
        {"properties": []},
        {"type": "object", "properties": "x", "required": "x"},
        {"type": None},
        {"type": "banana"},
        {"type": ["object", "null"]},
        {"type": "OBJECT"},
        {"default": None},
        math.nan,
        {"default": 10**5000},
        {"minProperties": -1, "x": {1}, 5: 1},
        {"properties": {"a": False}, "required": ["a"]},
        {"anyOf": [], "allOf": None, "oneOf": "x"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "string", "minLength": 1},
        {"anyOf": [{"type": "null"}]},
        {"$ref": "#"},
        {"$ref": "#/$defs/A"},
        {"$ref": 5},
        {"not": {}},
        {"enum": [{}]},
        {"const": {}},
    ],
)
@pytest.mark.parametrize("profile", ["default", "strict"])
def test_a_tool_without_parameters_is_shown_as_one(schema: object, profile: Any) -> None:
    assert shown(schema, profile=profile) == EMPTY


def test_only_the_schema_false_cannot_be_shown() -> None:
    with pytest.raises(UnusableSchema):
        show(False)


def test_in_the_default_profile_a_good_schema_stays_as_it_is() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "title": "Search",
        "properties": {
            "q": {
                "type": "string",
                "minLength": 1,
                "maxLength": 9,
                "pattern": "^a",
                "examples": ["a"],
                "x-ui": 1,
            },
            "n": {
                "type": "integer",
                "exclusiveMinimum": 0,
                "multipleOf": 2,
                "default": 2,
                "format": "uint64",
            },
            "kind": {"enum": ["a", 1, None]},
            "tree": {"$ref": "#/$defs/Tree"},
            "map": {"type": "object", "additionalProperties": {"type": "number"}, "minProperties": 1},
            "either": {"oneOf": [{"type": "string"}, {"not": {"type": "array", "items": {}}}]},
            "opt": {"type": "string", "nullable": True, "deprecated": True},
        },
        "required": ["q"],
        "additionalProperties": False,
        "$defs": {"Tree": {"type": "object", "properties": {"kids": {"$ref": "#/$defs/Tree"}}}},
    }
    result = show(schema)
    assert result.schema == schema
    assert result.warnings == ()


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ({"type": ["string", "null"]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"type": ["string"]}, {"type": "string"}),
        ({"type": "int"}, {"type": "integer"}),
        ({"type": "Dict"}, {"type": "object"}),
        ({"type": "list"}, {"type": "array", "items": {}}),
        ({"type": ["banana", "float"]}, {"type": "number"}),
        ({"type": "any", "description": "d"}, {"description": "d"}),
        ({"type": ["integer", "number"]}, {"type": "number"}),
        ({"type": ["string", "number", "boolean", "object", "array", "null"]}, {}),
        ({"type": ["string", "null"], "enum": ["a"]}, {"type": "string", "enum": ["a"]}),
        (
            {"type": ["string", "null"], "enum": ["a", None], "description": "d"},
            {"description": "d", "anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        ),
        (
            {"type": ["string", "array"], "minLength": 1, "items": {"type": "string"}},
            {"anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}}]},
        ),
        (
            {"type": ["object", "null"], "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {
                "anyOf": [
                    {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
                    {"type": "null"},
                ]
            },
        ),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "array", "items": True}, {"type": "array", "items": {}}),
        ({"type": "array", "items": False}, {"type": "array", "items": {}, "maxItems": 0}),
        (
            {"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "integer"}},
            {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
        ),
        ("string", {"type": "string"}),
        (None, {}),
        (True, {}),
        ({"default": None, "minimum": math.nan, "maximum": "5", "enum": [], "pattern": 5}, {}),
        ({"description": 5, "title": None, "minLength": -1, "maxLength": 2.0}, {"maxLength": 2}),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"required": True, "type": "string"}, {"type": "string"}),
        (
            {"pattern": r"^\p{L}+$", "type": "string"},
            {"type": "string", "description": r"(pattern: ^\p{L}+$)"},
        ),
        ({"enum": ["a", "a", {1}, b"x"]}, {"enum": ["a"]}),
        ({"anyOf": [{"type": "string"}, False, None, True]}, {"anyOf": [{"type": "string"}, {}]}),
        ({"additionalProperties": "no", "items": 5, "allOf": {}, "$defs": 3}, {}),
    ],
)
def test_a_parameter_becomes_what_model_apis_take(parameter: object, expected: dict[str, Any]) -> None:
    assert shown({"properties": {"p": parameter}})["properties"]["p"] == expected


def test_required_names_only_what_is_shown() -> None:
    schema = {"properties": {"a": {}, "b": {"required": True}}, "required": ["a", "gone", 5, "a"]}
    assert shown(schema)["required"] == ["a", "b"]


def test_alternatives_at_the_root_become_one_object() -> None:
    a = {"properties": {"a": {"type": "string"}, "kind": {"const": "a"}}, "required": ["kind", "a"]}
    b = {"properties": {"b": {"type": "integer"}, "kind": {"const": "b"}}, "required": ["kind", "b"]}
    for root in (
        {"type": "object", "anyOf": [a, b]},
        {"oneOf": [a, b]},
        {"oneOf": [a, {"type": "null"}, {"$ref": "#/$defs/B"}], "$defs": {"B": b}},
        {"allOf": [{"anyOf": [a, b]}]},
        {"$ref": "#/$defs/Root", "$defs": {"Root": {"anyOf": [a, b]}}},
    ):
        result = shown(root)
        assert result["properties"] == {
            "a": {"type": "string"},
            "b": {"type": "integer"},
            "kind": {"enum": ["a", "b"]},
        }
        assert result["required"] == ["kind"]
        for arguments in ({"kind": "a", "a": "x"}, {"kind": "b", "b": 1}):
            Draft202012Validator(result).validate(arguments)


def test_what_holds_always_at_the_root_stays_required() -> None:
    root = {
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}, "n": {"type": "integer"}},
        "required": ["kind"],
        "allOf": [
            {"properties": {"x": {"type": "string"}, "n": {"minimum": 0}}, "required": ["x"]},
            {
                "if": {"properties": {"kind": {"const": "a"}}},
                "then": {"properties": {"y": {}}, "required": ["y"]},
            },
        ],
        "dependentSchemas": {"x": {"properties": {"z": {"type": "string"}}, "required": ["z"]}},
        "not": {"required": ["w"]},
    }
    result = shown(root)
    assert result["required"] == ["kind", "x"]
    assert result["properties"] == {
        "kind": {"enum": ["a", "b"]},
        "n": {"type": "integer", "minimum": 0},
        "x": {"type": "string"},
        "y": {},
        "z": {"type": "string"},
    }


def test_a_parameter_with_two_meanings_is_shown_with_both() -> None:
    root = {"oneOf": [{"properties": {"v": {"type": "string"}}}, {"properties": {"v": {"type": "integer"}}}]}
    assert shown(root)["properties"]["v"] == {"anyOf": [{"type": "string"}, {"type": "integer"}]}


def test_descriptions_are_cleaned_and_cut_with_a_mark() -> None:
    text = "a\u202eb\u200bc\U000e0041d\x1b[31me\x07f"
    schema = {
        "description": text,
        "x-note\u200b": 1,
        "x-n": [text],
        "properties": {"p": {"title": text, "description": "语" * 3000, "enum": ["\u202e"]}},
    }
    result = shown(schema, max_description_chars=100)
    assert result["description"] == "abcdef"
    assert result["x-n"] == ["abcdef"]
    assert result["properties"]["p"]["title"] == "abcdef"
    assert result["properties"]["p"]["description"] == "语" * 99 + "…"
    assert result["properties"]["p"]["enum"] == ["\u202e"]
    assert "x-note\u200b" not in result


def test_names_that_an_api_refuses_are_shown_otherwise_and_mapped_back() -> None:
    inner = {"type": "object", "properties": {"last name": {"type": "string"}}, "required": ["last name"]}
    schema = {
        "properties": {
            "user id": {"type": "string", "description": "Who."},
            "user/id": {},
            "user_id": {},
            "名字": {},
            "": {},
            "x" * 70: {},
            "people": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/Inner"}, {"type": "null"}]}},
            "free": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Inner"}},
            "ok name": {},
        },
        "required": ["user id", "名字"],
        "$defs": {"Inner": inner},
    }
    result = show(schema)
    assert_sendable(result.schema)
    back = {old: new for new, old in result.names.items()}
    assert back["ok name"] == "ok_name"
    assert result.schema["properties"][back["user id"]]["description"] == "Who. (original name: user id)"
    assert result.schema["required"] == [back["user id"], back["名字"]]
    sent = {
        back["user id"]: 1,
        "user_id": 2,
        back["名字"]: 3,
        back[""]: 4,
        "people": [{"last_name": "x"}, None],
        "free": {"last_name": {"last_name": "y"}},
        "other": {"ok_name": 1},
        back["x" * 70]: 5,
    }
    assert result.restore(sent) == {
        "user id": 1,
        "user_id": 2,
        "名字": 3,
        "": 4,
        "people": [{"last name": "x"}, None],
        "free": {"last_name": {"last name": "y"}},
        "other": {"ok_name": 1},
        "x" * 70: 5,
    }


def test_names_are_mapped_back_in_an_object_that_came_as_json_text() -> None:
    inner = {"type": "object", "properties": {"user name": {"type": "string"}}}
    schema = {"properties": {"who": inner, "all": {"type": "array", "items": inner}, "note": {"type": "string"}}}
    sent = {"who": '{"user_name": "x"}', "all": ['{"user_name": "y"}'], "note": '{"user_name": "z"}'}
    assert show(schema).restore(sent) == {
        "who": {"user name": "x"},
        "all": [{"user name": "y"}],
        "note": '{"user_name": "z"}',
    }


def test_parameters_named_like_a_hosts_own_get_an_underscore() -> None:
    schema = {
        "type": "object",
        "properties": {"self": {"type": "string"}, "self_": {}, "config": {}, "a": {}},
        "required": ["self", "a"],
        "dependentRequired": {"config": ["self"]},
    }
    before = copy.deepcopy(schema)
    renamed, names = rename_parameters(schema, {"self", "config", "config_", "class"})
    assert list(renamed["properties"]) == ["self__", "self_", "config__", "a"]
    assert renamed["required"] == ["self__", "a"]
    assert renamed["dependentRequired"] == {"config__": ["self__"]}
    assert names == {"self__": "self", "config__": "config"}
    assert schema == before
