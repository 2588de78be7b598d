"""A Python function with the signature that a JSON Schema asks for."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, Literal, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge.facades.signature import MAX_DOC_CHARS, make_function
from mcp_bridge.tools.schema.shown import show
from tests.support.schemas import junk, valid_schemas

Function = Callable[..., Any]


def made(schema: dict[str, Any], call: Any = None) -> Function:
    return make_function("f", "Do it.", schema, call)


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, str),
        ({"type": "integer"}, int),
        ({"type": "number"}, float),
        ({"type": "boolean"}, bool),
        ({"type": "null"}, type(None)),
        ({"type": "array"}, list[Any]),
        ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, list[list[int]]),
        ({"type": "object"}, dict[str, Any]),
        ({"type": "object", "additionalProperties": {"type": "number"}}, dict[str, float]),
        ({"type": "string", "enum": ["a", "b"]}, Literal["a", "b"]),
        ({"const": 5}, Literal[5]),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, int | None),
        ({"oneOf": [{"type": "integer"}, {}]}, Any),
        ({"$ref": "#/$defs/Colour"}, Literal["red"]),
        ({"enum": [1.5, {}]}, Any),
        ({}, Any),
    ],
)
def test_a_parameter_has_the_type_of_its_schema(schema: dict[str, Any], kind: Any) -> None:
    whole = {"properties": {"p": schema}, "required": ["p"], "$defs": {"Colour": {"enum": ["red"]}}}
    assert get_type_hints(made(show(whole).schema))["p"] == kind


def test_what_is_left_out_has_the_servers_default() -> None:
    schema = {"properties": {"limit": {"type": "integer", "default": 5}, "name": {"type": "string"}}}
    function = made(schema)
    assert str(inspect.signature(function)) == "(*, limit: int = 5, name: str | None = None) -> str"


def test_the_docstring_tells_what_the_signature_cannot_and_stays_short() -> None:
    properties: dict[str, Any] = {"a": {"description": "first"}, "max-results": {}}
    schema = {"properties": properties, "required": ["max-results"]}
    assert made(schema).__doc__ == "Do it.\n\nArgs:\n    a: first\n    max-results (required): max-results"
    properties["a"]["description"] = "x" * 5000
    assert len(str(made(schema).__doc__)) == MAX_DOC_CHARS


@given(valid_schemas | junk, st.dictionaries(st.text(max_size=3), st.none() | st.integers(), max_size=3))
def test_every_schema_makes_a_function_that_hands_on_what_it_is_given(schema: Any, arguments: dict[str, Any]) -> None:
    """No schema of a server can cost the program its other tools, and nothing is added to a call."""
    if schema is False:
        return
    received: list[dict[str, Any]] = []

    async def call(given: dict[str, Any]) -> str:
        received.append(given)
        return "done"

    shown = show(schema).schema
    function = made(shown, call)
    assert asyncio.run(function(**arguments)) == "done"
    assert received == [arguments]
    hints = get_type_hints(function)
    parameters = inspect.signature(function).parameters
    named = {name: one for name, one in parameters.items() if one.kind is inspect.Parameter.KEYWORD_ONLY}
    assert hints.keys() == {*parameters, "return"}
    assert named.keys() <= shown["properties"].keys()
    for name, parameter in named.items():
        assert (parameter.default is inspect.Parameter.empty) == (name in shown.get("required", ()))
    if named.keys() != shown["properties"].keys():
        assert any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    inspect.signature(function).bind(**dict.fromkeys(shown["properties"]))
