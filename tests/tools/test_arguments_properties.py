"""What holds for whatever arguments a model sends."""

from __future__ import annotations

import copy
import json
import math
import os
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mcp_bridge.text.json_values import MAX_DEPTH
from mcp_bridge.tools.arguments import repair as room
from mcp_bridge.tools.arguments.fit import Checker
from mcp_bridge.tools.arguments.repair import ArgumentsError, fits_at_a_glance, parse_arguments, repair_arguments
from tests.support.schemas import STRICT

EXAMPLES = int(os.environ.get("MCP_BRIDGE_EXAMPLES", "200"))  # per property


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-99, 99)
    | st.floats(-9, 9)
    | st.sampled_from(["", "5", "0.5", "true", "null", "a", "A ", "[1]", '{"a": "1"}', "nan", "x"])
)
names = st.sampled_from(["a", "b", "c"])
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
types = st.sampled_from(["string", "integer", "number", "boolean", "object", "array", "null"])


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": types | st.lists(types, min_size=1, max_size=3, unique=True),
            "properties": st.dictionaries(names, inner, max_size=3),
            "required": st.lists(names, max_size=2, unique=True),
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "additionalProperties": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "enum": st.lists(json_values, min_size=1, max_size=3),
            "const": scalars,
            "minimum": st.integers(-5, 5),
            "minLength": st.integers(0, 3),
        },
    )


leaves = st.booleans() | types.map(lambda word: {"type": word}) | st.just({"$ref": "#/$defs/D"})
subschemas = st.recursive(leaves, _schemas, max_leaves=6)
roots = st.builds(
    lambda schema, definition: {**(schema if isinstance(schema, dict) else {}), "$defs": {"D": definition}},
    _schemas(subschemas) | subschemas,
    types.map(lambda word: {"type": word}) | _schemas(types.map(lambda word: {"type": word})),
)
arguments = st.dictionaries(names, json_values, max_size=3)
junk = st.recursive(
    scalars | st.sampled_from([math.nan, "banana", "#/$defs/D", "#", "int"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "a",
                    "b",
                    "items",
                    "anyOf",
                    "allOf",
                    "oneOf",
                    "$ref",
                    "$defs",
                    "D",
                    "enum",
                    "const",
                    "required",
                    "nullable",
                    "prefixItems",
                    "additionalProperties",
                    "$id",
                    "$anchor",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)
_settings = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@_settings
@given(arguments, roots)
def test_valid_arguments_are_not_touched(sent: dict[str, Any], schema: dict[str, Any]) -> None:
    """A call that was right before is sent exactly as the model wrote it."""
    if Draft202012Validator(schema).is_valid(sent):
        assert repair_arguments(sent, schema) == sent


@_settings
@given(arguments, roots | junk)
def test_repairing_twice_is_repairing_once(sent: dict[str, Any], schema: object) -> None:
    """A call that passes through two layers of repair, or is sent again, reaches the server unchanged."""
    once = repair_arguments(sent, schema)
    assert json.dumps(repair_arguments(once, schema)) == json.dumps(once)


flat = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(
            names | st.just("args"),
            st.fixed_dictionaries(
                {"type": types},
                optional={
                    "default": scalars,
                    "enum": st.lists(scalars, min_size=1, max_size=3),
                    "const": scalars,
                    "anyOf": st.lists(types.map(lambda word: {"type": word}), min_size=1, max_size=2),
                },
            ),
            max_size=3,
        ),
    },
    optional={"required": st.lists(names, max_size=2), "additionalProperties": st.booleans()},
)


@_settings
@given(st.dictionaries(names | st.just("args"), json_values, max_size=3), flat)
@example({"args": '{"a": 1}'}, {"type": "object", "properties": {"args": {"type": "string"}}})
@example({"a": "A "}, {"type": "object", "properties": {"a": {"type": "string", "enum": ["a"]}}})
@example({"a": 2.0}, {"type": "object", "properties": {"a": {"type": "integer"}}})
def test_what_fits_at_a_glance_is_what_the_long_way_would_leave_alone(
    sent: dict[str, Any], schema: dict[str, Any]
) -> None:
    """A quick call loses no repair."""
    if fits_at_a_glance(sent, schema):
        checker = Checker(schema)
        assert room._identical(room._Repairer(checker).value(copy.deepcopy(sent), schema, MAX_DEPTH), sent)
        assert room._wrapped_arguments(sent) is None


@_settings
@given(arguments, junk)
def test_a_malformed_schema_never_ends_a_call(sent: dict[str, Any], schema: object) -> None:
    """A tool whose schema is nonsense can still be called, and what the caller holds stays as it was."""
    before = copy.deepcopy((sent, schema))
    repaired = repair_arguments(sent, schema)
    json.dumps(repaired, allow_nan=False)
    assert repr((sent, schema)) == repr(before)


@_settings
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "count": st.integers(),
            "ratio": st.floats(allow_nan=False, allow_infinity=False),
            "flag": st.booleans(),
            "where": st.fixed_dictionaries({"lat": st.integers()}),
            "tags": st.lists(st.text(max_size=5)),
        },
    )
)
def test_values_sent_as_text_arrive_typed(meant: dict[str, Any]) -> None:
    """A model that writes every value as a string still gets its call through a strict server."""
    sent = {name: json.dumps(value) for name, value in meant.items()}
    repaired = repair_arguments(sent, STRICT)
    assert repaired == meant
    assert {name: type(value) for name, value in repaired.items() if name != "ratio"} == {
        name: type(value) for name, value in meant.items() if name != "ratio"
    }


@_settings
@given(st.text() | st.binary() | json_values | st.text(alphabet='{}[]",:\\ab1 `'))
def test_whatever_a_model_sends_is_a_dict_or_an_explained_error(sent: object) -> None:
    """The chat goes on whatever the model sends: no other exception reaches the bot."""
    try:
        parsed = parse_arguments(sent)
    except ArgumentsError as error:
        told = str(error)
    else:
        told = "the arguments: " + json.dumps(parsed, allow_nan=False)
    assert told.startswith(("the arguments", "a name", "a number"))
    told.encode("utf-8")


@_settings
@given(arguments, st.booleans(), st.integers(0, 2))
def test_arguments_arrive_however_often_they_were_encoded(meant: dict[str, Any], fence: bool, times: int) -> None:
    """Gateways that encode the arguments again, or models that add a code fence, change nothing."""
    text = json.dumps(meant)
    text = f"```json\n{text}\n```" if fence else text
    for _ in range(times):
        text = json.dumps(text)
    assert parse_arguments(text) == meant
