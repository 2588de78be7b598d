"""Parameters of four types: what is nested goes as JSON text and comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge.tools.schema.flat import MAX_SHAPE_CHARS, FlatParameter, flatten, unflatten
from mcp_bridge.tools.schema.shown import show

SCALARS = st.sampled_from(["string", "integer", "number", "boolean"])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NESTED = st.lists(JSON, max_size=4) | st.dictionaries(st.text(), JSON, max_size=4)


def one(schema: dict[str, Any], *, required: bool = False) -> FlatParameter:
    root = {"type": "object", "properties": {"p": schema}, "required": ["p"] if required else []}
    [flat] = flatten(show(root, profile="strict").schema)
    return flat


@given(NESTED)
def test_nested_values_survive_the_way_as_text(value: Any) -> None:
    kind = "array" if isinstance(value, list) else "object"
    for schema in ({"type": kind}, {}, {"anyOf": [{"type": "string"}, {"type": kind}]}):
        given_back = unflatten({"p": json.dumps(value)}, {"properties": {"p": schema}})
        assert given_back == {"p": value}
        assert unflatten(given_back, {"properties": {"p": schema}}) == given_back


@given(st.text() | NESTED.map(json.dumps), SCALARS)
def test_text_is_left_alone_where_nothing_nested_is_wanted(text: str, kind: str) -> None:
    assert unflatten({"p": text, "q": text}, {"properties": {"p": {"type": kind}}}) == {"p": text, "q": text}


@given(st.dictionaries(st.text(min_size=1), JSON, max_size=5))
def test_every_schema_gives_parameters_that_a_host_accepts(properties: dict[str, Any]) -> None:
    shown = show({"type": "object", "properties": properties, "required": list(properties)}, profile="strict").schema
    flat = flatten(shown)
    assert [parameter.name for parameter in flat] == list(shown["properties"])
    for parameter in flat:
        assert parameter.kind in ("string", "integer", "number", "boolean")
        assert parameter.description
        assert parameter.enum is None or all(isinstance(value, str) for value in parameter.enum)


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "integer"}, "integer"),
        ({"type": ["integer", "null"]}, "integer"),
        ({"type": ["integer", "number"]}, "number"),
        ({"type": ["integer", "string"]}, "string"),
        ({"type": "array", "items": {"type": "integer"}}, "string"),
        ({"const": True}, "boolean"),
        ({}, "string"),
    ],
)
def test_kinds(schema: dict[str, Any], kind: str) -> None:
    assert one(schema).kind == kind


def test_a_list_of_values_is_kept_also_where_null_is_allowed() -> None:
    listed = {"type": "string", "enum": ["a", "b"]}
    for required in (True, False):
        assert one({"anyOf": [listed, {"type": "null"}]}, required=required).enum == ["a", "b"]
    assert one({"enum": [1, 2]}).enum is None
    assert "one of 1, 2" in one({"enum": [1, 2]}).description


def test_references_are_told_in_full_and_the_text_is_bounded() -> None:
    root: dict[str, Any] = {
        "type": "object",
        "properties": {"p": {"$ref": "#/$defs/P", "description": "Where."}, "long": {"type": "object"}},
        "$defs": {"P": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}},
    }
    root["properties"]["long"]["properties"] = {f"name{n}": {"type": "string"} for n in range(500)}
    where, long = flatten(show(root, profile="strict").schema)
    assert where.description == (
        'Where. (JSON text of this schema: {"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]})'
    )
    assert MAX_SHAPE_CHARS < len(long.description) < MAX_SHAPE_CHARS + 200


def test_text_or_something_nested_says_so() -> None:
    assert "(plain text, or JSON text of this schema: " in one({"type": ["string", "array"]}).description
    assert one({}).description == "p (plain text, or JSON text of an object or array)"
