"""What servers call an input schema, and what a model API is given instead."""

from __future__ import annotations

import copy
import json
import math
import os
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mcp_bridge.schema import MAX_JSON_CHARS, UnusableSchema, rename_parameters, show
from mcp_bridge.schema.strict import ALLOWED

EMPTY = {"type": "object", "properties": {}}
EXAMPLES = int(os.environ.get("MCP_BRIDGE_EXAMPLES", "200"))  # per property
TYPES = {"string", "integer", "number", "boolean", "object", "array", "null"}


def shown(schema: object, **options: Any) -> dict[str, Any]:
    result = show(schema, **options)
    assert_sendable(result.schema)
    return result.schema


def assert_sendable(schema: dict[str, Any]) -> None:
    """Assert what every model API asks of a schema."""
    json.dumps(schema, allow_nan=False).encode("utf-8")
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert isinstance(schema["properties"], dict)
    assert not {"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const", "$ref"} & schema.keys()
    assert set(schema.get("required", [])) <= schema["properties"].keys()
    for node in schemas_in(schema):
        assert "type" not in node or node["type"] in TYPES
        assert node.get("type") != "array" or isinstance(node["items"], dict)
        assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) for name in node.get("properties", {}))
        if "$ref" in node:
            assert isinstance(follow(schema, node["$ref"]), dict)


def schemas_in(node: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(node, dict):
        return
    yield node
    for key, value in node.items():
        if key in ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas"):
            for inner in value.values():
                yield from schemas_in(inner)
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for inner in value:
                yield from schemas_in(inner)
        elif key in (
            "items",
            "not",
            "if",
            "then",
            "else",
            "contains",
            "additionalProperties",
            "propertyNames",
            "unevaluatedItems",
            "unevaluatedProperties",
            "contentSchema",
        ):
            yield from schemas_in(value)


def follow(root: Any, ref: str) -> Any:
    assert ref.startswith("#/")
    for token in unquote(ref[2:]).split("/"):
        root = root[token.replace("~1", "/").replace("~0", "~")]
    return root


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


REFERENCED = {"type": "object", "properties": {"id": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("ref", "rest"),
    [
        ("#/$defs/P", {"$defs": {"P": REFERENCED}}),
        ("#/definitions/P", {"definitions": {"P": REFERENCED}}),
        ("#/$defs/a~1b~0c", {"$defs": {"a/b~c": REFERENCED}}),
        ("#/$defs/100%25", {"$defs": {"100%": REFERENCED}}),
        ("#/$defs/My%20Type", {"$defs": {"My Type": REFERENCED}}),
        ("#/$defs/\u202eP", {"$defs": {"\u202eP": REFERENCED}}),
        ("#anchor", {"$defs": {"P": {"$anchor": "anchor", **REFERENCED}}}),
        ("#old", {"definitions": {"P": {"$id": "#old", **REFERENCED}}}),
        ("p.json", {"$id": "https://example.com/tool.json", "$defs": {"P": {"$id": "p.json", **REFERENCED}}}),
        ("https://example.com/t#/$defs/P", {"$id": "https://example.com/t", "$defs": {"P": REFERENCED}}),
        ("#/components/schemas/P", {"components": {"schemas": {"P": REFERENCED}}}),
        ("#/anyOf/0/$defs/P", {"anyOf": [{"$defs": {"P": REFERENCED}}]}),
        ("#/properties/other", {"properties": {"other": REFERENCED}}),
        ("#/properties/other/items", {"properties": {"other": {"type": "array", "items": REFERENCED}}}),
        ("#/$defs/P", {"properties": {"other": {"$defs": {"P": REFERENCED}}}}),
        ("#/$defs/Q", {"$defs": {"Q": {"$ref": "#/$defs/P"}, "P": REFERENCED}}),
    ],
)
@pytest.mark.parametrize("profile", ["default", "strict"])
def test_the_model_sees_what_a_reference_names(ref: str, rest: dict[str, Any], profile: Any) -> None:
    parameter = {"$ref": ref, "description": "kept"}
    schema = {"type": "object", **rest, "properties": {**rest.get("properties", {}), "p": parameter}}
    result = shown(schema, profile=profile)
    seen = result["properties"]["p"]
    assert seen["description"] == "kept"
    while "$ref" in seen:
        seen = follow(result, seen["$ref"])
    assert seen["properties"]["id"] == {"type": "integer"}


@pytest.mark.parametrize(
    "ref",
    [
        "#/$defs/Gone",
        "https://example.com/x.json",
        "file:///etc/passwd",
        "other.json#/P",
        "#gone",
        "",
        5,
        "http://[",
        "#/properties/p",
        "#/$defs/Loop",
        "#/$defs/P/type",
        "#/$defs/%zz",
        "#/properties/list/0",
    ],
)
def test_a_reference_to_nowhere_leaves_its_description_and_a_warning(ref: object) -> None:
    loop = {
        "Loop": {"$ref": "#/$defs/Loop2"},
        "Loop2": {"allOf": [{"$ref": "#/$defs/Loop"}]},
        "P": {"type": "string"},
    }
    schema = {"properties": {"p": {"$ref": ref, "description": "kept"}}, "$defs": loop}
    if ref == "":  # the document itself
        assert "$ref" in shown(schema)["properties"]["p"]
        return
    result = show(schema)
    Draft202012Validator(result.schema).is_valid({"p": 5})
    assert any("leads nowhere" in line for line in result.warnings)
    if ref != "#/$defs/Loop":
        assert result.schema["properties"]["p"] == {"description": "kept"}


def test_recursion_stays_by_default_and_is_cut_in_the_strict_profile() -> None:
    node = {
        "type": "object",
        "properties": {"v": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#"}}},
    }
    default = shown(node)
    Draft202012Validator(default).validate({"v": "a", "kids": [{"kids": [{"v": "b"}]}]})
    assert not Draft202012Validator(default).is_valid({"kids": [{"kids": [{"v": 5}]}]})
    strict = shown(node, profile="strict")
    assert "$ref" not in json.dumps(strict)
    assert "same shape as root" in json.dumps(strict)


def test_definitions_that_name_each_other_twice_stay_small() -> None:
    defs: dict[str, Any] = {
        f"L{i}": {"type": "object", "properties": {s: {"$ref": f"#/$defs/L{i + 1}"} for s in "ab"}} for i in range(40)
    }
    defs["L40"] = {"type": "string"}
    alternatives = {f"M{i}": {"anyOf": [{"$ref": f"#/$defs/M{i + 1}"}] * 2} for i in range(40)}
    for root in ({"properties": {"p": {"$ref": "#/$defs/L0"}}}, {"$ref": "#/$defs/M0"}):
        schema = {**root, "$defs": {**defs, **alternatives, "M40": {"properties": {"x": {}}}}}
        for profile in ("default", "strict"):
            assert len(json.dumps(shown(schema, profile=profile))) <= MAX_JSON_CHARS


@pytest.mark.parametrize("profile", ["default", "strict"])
def test_a_huge_schema_is_cut_and_still_offered(profile: Any) -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(2000):
        deep = {"type": "object", "properties": {"next": deep}}
    assert "next" in shown(deep, profile=profile)["properties"]
    wide = {"properties": {f"p{i}": {"type": "string", "description": "d" * 900} for i in range(3000)}}
    assert 0 < len(json.dumps(shown(wide, profile=profile))) <= MAX_JSON_CHARS
    cyclic: dict[str, Any] = {"type": "object"}
    cyclic["properties"] = {"a": cyclic, "b": cyclic}
    shown(cyclic, profile=profile)
    long = shown({"properties": {"p": {"enum": [f"v{i}" for i in range(5000)]}}}, profile=profile)
    assert len(long["properties"]["p"]["enum"]) == 500
    assert "4500 more values" in long["properties"]["p"]["description"]


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
            "e": {"type": "array", "description": "(items: >= 1)", "items": {}},
            "f": {"type": "string", "description": "(length <= 5; default: x)"},
            "g": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "h": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["h"],
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
_sub = st.recursive(_leaves, _schemas, max_leaves=8)
valid_schemas = st.builds(
    lambda root, d, e: {
        **(root if isinstance(root, dict) else {}),
        "$defs": {"D": d},
        "definitions": {"E": e},
    },
    _sub,
    _sub,
    _sub,
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 4) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=5,
)
profiles = st.sampled_from(["default", "strict"])
_settings = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


@_settings
@given(junk | valid_schemas, profiles, st.integers(1, 30))
def test_whatever_a_server_sends_the_request_is_accepted(schema: object, profile: Any, limit: int) -> None:
    """One odd tool never costs the chat all its tools: what is sent passes every check of a model API."""
    if schema is False:
        return
    before = copy.deepcopy(schema)
    result = show(schema, profile=profile, max_description_chars=limit)
    assert_sendable(result.schema)
    assert schema == before
    for node in schemas_in(result.schema):
        assert len(node.get("description", "")) <= limit
        assert profile == "default" or node.keys() <= set(ALLOWED)
        assert node.get("default", 0) is not None
    assert show(schema, profile=profile, max_description_chars=limit) == result


@_settings
@given(
    _sub,
    st.dictionaries(st.sampled_from(["D"]), _sub, max_size=1),
    st.dictionaries(names, values, max_size=2),
)
def test_what_the_server_accepts_the_shown_schema_accepts(parameter: Any, defs: Any, value: Any) -> None:
    """A host that checks calls against the shown schema refuses nothing that the server would take."""
    schema = {"type": "object", "properties": {"a": parameter, "user id": parameter}, "$defs": defs}
    text = json.dumps(schema)
    if "user_id" in json.dumps(value):
        return  # the name that is shown for "user id"
    if '"not"' in text or '"oneOf"' in text or '"if"' in text or '"contains"' in text:
        return  # what is loosened inside a negation becomes tighter outside
    try:
        accepted = Draft202012Validator(schema).is_valid(value)
    except Exception:  # an endless or dangling reference, which the validator cannot judge
        return
    if accepted:
        result = show(schema)
        back = {old: new for new, old in result.names.items()}
        assert Draft202012Validator(result.schema).is_valid(renamed(value, back)), result.schema


def renamed(value: Any, new: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {new.get(key, key): renamed(member, new) for key, member in value.items()}
    return [renamed(member, new) for member in value] if isinstance(value, list) else value


@_settings
@given(st.lists(st.text(max_size=70) | names, max_size=6, unique=True), st.randoms())
def test_every_parameter_name_finds_its_way_back(originals: list[str], random: Any) -> None:
    """A tool with parameters in any language or spelling gets each value under its own name."""
    originals = [name.encode("utf-8", "replace").decode() for name in originals]
    schema = {"properties": {"top": {"type": "object", "properties": {n: {} for n in originals}}}}
    result = show(schema)
    assert_sendable(result.schema)
    inner = list(result.schema["properties"]["top"]["properties"])
    assert len(inner) == len(set(originals))
    restored = result.restore({"top": {name: i for i, name in enumerate(inner)}})
    assert sorted(restored["top"]) == sorted(set(originals))
    random.shuffle(originals)
    again = show({"properties": {"top": {"type": "object", "properties": {n: {} for n in originals}}}})
    assert dict(again.names) == dict(result.names)


@_settings
@given(valid_schemas, st.sets(names))
def test_a_host_can_keep_any_name_for_itself(schema: Any, reserved: set[str]) -> None:
    """No parameter is swallowed by a host: none shares its name, none is lost, and each is mapped back."""
    first = show(schema).schema
    new, back = rename_parameters(first, reserved)
    assert not new["properties"].keys() & reserved
    assert [back.get(name, name) for name in new["properties"]] == list(first["properties"])
    assert_sendable(new)


@_settings
@given(valid_schemas)
def test_showing_twice_is_showing_once(schema: Any) -> None:
    """A shown schema that passes through the bridge again, by a host or a catalogue, stays as it is."""
    first = show(schema).schema
    assert show(first).schema == first
