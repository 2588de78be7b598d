"""References, recursion and size: what a schema points to, and how much of it is shown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mcp_bridge.tools.schema.shown import MAX_JSON_CHARS, show
from tests.support.schema_checks import follow, shown

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
