"""What models send as arguments, and what the server receives."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from mcp_bridge.tools.arguments.repair import ArgumentsError, parse_arguments, repair_arguments
from tests.support.schemas import STRICT


@pytest.mark.parametrize(
    "sent",
    [None, "", "  \n", "null", "{}", '""', '"null"', '"{}"', {}, b"", b"{}", "```json\n{}\n```", "\ufeff{}"],
)
def test_a_tool_without_parameters_can_be_called_with_nothing(sent: object) -> None:
    assert parse_arguments(sent) == {}


@pytest.mark.parametrize(
    "sent",
    [
        {"a": 1},
        '{"a": 1}',
        b' {"a": 1}\n',
        '```json\n{"a": 1}\n```',
        '```\n{"a": 1}```',
        '"{\\"a\\": 1}"',
        json.dumps(json.dumps('{"a": 1}')),
        json.dumps('```json\n{"a": 1}\n```'),
    ],
)
def test_arguments_arrive_however_they_were_wrapped(sent: object) -> None:
    assert parse_arguments(sent) == {"a": 1}


def test_a_line_end_that_the_model_forgot_to_escape_arrives() -> None:
    assert parse_arguments('{"code": "if a:\n\tb()"}') == {"code": "if a:\n\tb()"}
    schema = {"type": "object", "properties": {"edit": {"type": "object", "properties": {"text": {"type": "string"}}}}}
    assert repair_arguments({"edit": '{"text": "a\nb"}'}, schema) == {"edit": {"text": "a\nb"}}


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ('{"a":', "not valid JSON: Expecting value at character 6, near '{\"a\":'"),
        ("{'a': 1}", "near \"{'a': 1}\""),
        ('{"a": 1} and more', "Extra data"),
        ("[1, 2]", "must be a JSON object, not array: '[1, 2]'"),
        ("[]", "not array"),
        ("5", "not integer"),
        ('"hello"', "hello"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": 1e400}', "1e400 is too large"),
        ('{"a": ' + "9" * 5000 + "}", "too long"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 150 + "1" + "}" * 150, "levels deep"),
        ({"a": math.inf}, "inf"),
        ({"a": {1, 2}}, "{1, 2}"),
        ({1: 2}, "name in the arguments is not a string"),
        (b'\xff{"a":1}', "not UTF-8"),
        (5, "not integer: '5'"),
        (object(), "not object"),
    ],
)
def test_the_model_is_told_what_was_wrong_with_its_arguments(sent: object, told: str) -> None:
    with pytest.raises(ArgumentsError) as caught:
        parse_arguments(sent)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 250


def test_a_cyclic_mapping_is_an_error_and_not_a_crash() -> None:
    cyclic: dict[str, Any] = {}
    cyclic["again"] = [cyclic, cyclic]
    with pytest.raises(ArgumentsError):
        parse_arguments(cyclic)


def test_a_lone_surrogate_of_the_model_does_not_break_the_sending() -> None:
    assert parse_arguments('{"a": "x\\ud800y"}') == {"a": "x\ufffdy"}


def test_the_parsed_arguments_share_nothing_with_what_was_given() -> None:
    given_arguments = {"a": {"b": [1]}}
    parsed = parse_arguments(given_arguments)
    parsed["a"]["b"].append(2)
    assert given_arguments == {"a": {"b": [1]}}


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        ({"count": "5", "ratio": "0.5", "flag": "true"}, {"count": 5, "ratio": 0.5, "flag": True}),
        ({"count": 5.0, "flag": "False"}, {"count": 5, "flag": False}),
        ({"count": " 5 ", "ratio": "7"}, {"count": 5, "ratio": 7}),
        ({"count": "-12", "ratio": "1e-3"}, {"count": -12, "ratio": 0.001}),
        ({"count": 1, "zip": "01234", "note": "5"}, {"count": 1, "zip": "01234", "note": "5"}),
        ({"count": 1, "zip": 1234, "note": True}, {"count": 1, "zip": "1234", "note": "true"}),
        ({"count": 1, "tags": '["a","b"]'}, {"count": 1, "tags": ["a", "b"]}),
        ({"count": 1, "tags": "a"}, {"count": 1, "tags": ["a"]}),
        ({"count": 1, "tags": [1, "b"]}, {"count": 1, "tags": ["1", "b"]}),
        ({"count": 1, "where": '{"lat": "5.5"}'}, {"count": 1, "where": {"lat": 5.5}}),
        ({"count": 1, "where": {"lat": 1, "name": None}}, {"count": 1, "where": {"lat": 1}}),
        ({"count": 1, "note": None, "level": None}, {"count": 1, "level": None}),
        ({"count": 1, "level": "3"}, {"count": 1, "level": 3}),
        ({"count": 1, "color": "red "}, {"count": 1, "color": "Red"}),
        ({"count": 1, "unknown": "5", "other": None}, {"count": 1, "unknown": "5", "other": None}),
    ],
)
def test_a_strict_server_gets_what_the_model_meant(sent: dict[str, Any], received: dict[str, Any]) -> None:
    repaired = repair_arguments(sent, STRICT)
    assert json.dumps(repaired) == json.dumps(received)


@pytest.mark.parametrize(
    "count",
    ["abc", "1.5", "", " ", "1e400", "nan", "Infinity", "0x10", "1_000", "٣", True, 1.5, None, [], {}],
)
def test_a_value_that_is_not_an_integer_is_passed_on_for_the_server_to_refuse(count: object) -> None:
    assert json.dumps(repair_arguments({"count": count}, STRICT)) == json.dumps({"count": count})


@pytest.mark.parametrize("value", ["nan", "inf", "1e400", "", "1,5", "five"])
def test_a_value_that_is_not_a_number_is_passed_on(value: str) -> None:
    assert repair_arguments({"ratio": value}, STRICT) == {"ratio": value}


@pytest.mark.parametrize("value", ["yes", "1", "", "on", 1, 0])
def test_a_value_that_is_not_a_boolean_is_not_guessed(value: object) -> None:
    assert json.dumps(repair_arguments({"flag": value}, STRICT)) == json.dumps({"flag": value})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"oneOf": [{"$ref": "#/$defs/Text"}, {"type": "null"}]},
        {"type": "string", "nullable": True},
        {"enum": ["a", None]},
        {"const": None},
        {},
        True,
        {"description": "anything"},
        {"$ref": "#/$defs/Nowhere"},
        {"type": "banana"},
    ],
)
def test_null_reaches_a_parameter_that_takes_it(schema: object) -> None:
    root = {"properties": {"p": schema}, "$defs": {"Text": {"type": "string"}}}
    assert repair_arguments({"p": None}, root) == {"p": None}


@pytest.mark.parametrize(
    "schema", [{"type": "string"}, {"enum": ["a"]}, {"anyOf": [{"type": "string"}]}, {"$ref": "#/$defs/Text"}]
)
def test_null_for_an_optional_parameter_that_refuses_it_is_left_out(schema: object) -> None:
    root = {"properties": {"p": schema}, "$defs": {"Text": {"type": "string"}}}
    assert repair_arguments({"p": None}, root) == {}
    assert repair_arguments({"p": None}, {**root, "required": ["p"]}) == {"p": None}
    assert repair_arguments({"p": None}, {"allOf": [root, {"required": ["p"]}], **root}) == {"p": None}


@pytest.mark.parametrize(
    ("schema", "sent", "received"),
    [
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "5", "5"),
        ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "true", True),
        ({"type": ["integer", "null"]}, "5", 5),
        ({"type": ["integer", "null"]}, "null", None),
        ({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}, "[1]", [1]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 5, "5"),
        ({"enum": [1, 2, 3]}, "2", 2),
        ({"type": "string", "enum": ["1", "2"]}, 2, "2"),
        ({"enum": ["a", "A"]}, " a", " a"),
        ({"const": "On"}, "ON", "On"),
        ({"type": "array", "items": {}}, "a,b", "a,b"),
        ({"type": "array", "items": {"type": "integer"}}, "5", [5]),
        ({"type": "array", "items": {"type": "integer"}}, "", ""),
        (
            {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
            ["1", 2],
            [1, "2"],
        ),
        ({"items": [{"type": "integer"}, {"type": "string"}]}, ["1", 2], [1, "2"]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"x": "1"}, {"x": 1}),
        ({"type": "int"}, "5", 5),
        ({"$ref": "#/$defs/Tree"}, {"v": "1", "kids": [{"v": "2"}]}, {"v": 1, "kids": [{"v": 2}]}),
        ({"anyOf": [{"$ref": "#/$defs/Need"}, {"type": "null"}]}, {"v": "1"}, {"v": 1}),
    ],
)
def test_each_kind_of_parameter_is_repaired_by_its_own_schema(schema: Any, sent: Any, received: Any) -> None:
    tree = {
        "type": "object",
        "properties": {
            "v": {"type": "integer"},
            "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        },
    }
    root = {"properties": {"p": schema}, "$defs": {"Tree": tree, "Need": {**tree, "required": ["other"]}}}
    assert json.dumps(repair_arguments({"p": sent}, root)) == json.dumps({"p": received})


def test_definitions_that_name_each_other_twice_do_not_stop_the_bot() -> None:
    bomb = {f"L{i}": {"anyOf": [{"$ref": f"#/$defs/L{i + 1}"}] * 2} for i in range(40)}
    bomb["L40"] = {"type": "integer"}  # type: ignore[dict-item]
    schema = {"properties": {"p": {"$ref": "#/$defs/L0"}}, "$defs": bomb}
    assert repair_arguments({"p": "x"}, schema) == {"p": "x"}


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"properties": {"p": {"$ref": "#"}}}])
def test_a_schema_that_names_itself_comes_to_an_end(schema: object) -> None:
    assert repair_arguments({"p": {"p": "1"}}, schema) == {"p": {"p": "1"}}


PLACE = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "where": {"type": "object"}},
    "required": ["city"],
}


@pytest.mark.parametrize("wrapper", ["arguments", "kwargs", "params", "input", "Args"])
@pytest.mark.parametrize("inner", [{"city": "x", "days": "2"}, '{"city": "x", "days": 2}'])
def test_arguments_that_a_framework_wrapped_arrive_unwrapped(wrapper: str, inner: object) -> None:
    assert repair_arguments({wrapper: inner}, PLACE) == {"city": "x", "days": 2}


@pytest.mark.parametrize(
    ("sent", "schema"),
    [
        ({"arguments": {"town": "x"}}, PLACE),  # would not fit either: the server's error says more
        ({"arguments": {"city": "x"}, "days": 2}, PLACE),
        ({"other": {"city": "x"}}, PLACE),
        ({"params": {"city": "x"}}, {"type": "object", "properties": {"params": {"type": "object"}}}),
        ({"params": {"city": "x"}}, {"type": "object"}),
        ({"input": {"city": "x"}}, {"type": "object", "properties": {"input": {}, "city": {}}, "required": ["input"]}),
    ],
)
def test_what_the_schema_takes_or_cannot_mean_is_not_unwrapped(sent: dict[str, Any], schema: dict[str, Any]) -> None:
    assert repair_arguments(sent, schema) == sent


def test_json_text_inside_json_text_is_decoded_at_every_depth() -> None:
    twice = json.dumps(json.dumps({"x": 1}))
    assert repair_arguments({"city": "x", "where": twice}, PLACE) == {"city": "x", "where": {"x": 1}}
    assert repair_arguments({"city": twice}, PLACE) == {"city": twice}
