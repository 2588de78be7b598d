"""Schemas: what users saw when a server's tool description was more, less or other than a model API takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from jsonschema import Draft202012Validator

from mcp_bridge import BaseTool, Bridge, create_mcp_tool_class, load_config
from tests.support.entries import Write, odd
from tests.support.remote import remote
from tests.support.schema_checks import EMPTY, TYPES, assert_sendable, schemas_in
from tests.support.schema_zoo import PROFILES, arrived, tool_of, zoo

pytestmark = pytest.mark.usefixtures("no_children_left")
STRICT_KEYWORDS = {"type", "description", "properties", "required", "items", "enum", "anyOf"}
ANYTHING = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}


@PROFILES
async def test_a_tool_without_parameters_has_a_schema_that_the_api_accepts(write_config: Write, profile: str) -> None:
    """Reported: a tool without parameters made the API refuse the request."""
    entries = zoo("empty_schema", "no_schema", profile=profile) + odd("s", "null_properties")
    async with Bridge(load_config(write_config(entries))) as bridge:
        bare = [tool for tool in bridge.tools() if tool.remote_name not in ("echo", "pid")]
        assert len(bare) == 8
        for tool in bare:
            schema = dict(tool.input_schema)
            assert isinstance(schema.pop("required", []), list)
            assert schema == EMPTY, tool.remote_name
            assert await arrived(bridge, tool.name, {}) in ({}, None)


async def test_a_list_of_types_is_shown_as_strict_providers_accept_it(write_config: Write) -> None:
    """Reported: a list of types made strict providers refuse everything."""
    shapes = ("type_list", "anyof_null", "type_bogus", "type_missing")
    for profile in ("default", "strict"):
        async with Bridge(load_config(write_config(zoo(*shapes, profile=profile)))) as bridge:
            for shape in shapes:
                schema = tool_of(bridge, shape).input_schema
                assert_sendable(schema)
                types = [node["type"] for node in schemas_in(schema) if "type" in node]
                assert all(isinstance(one, str) and one in TYPES for one in types)
                assert schema.get("required", []) == (["a"] if shape == "anyof_null" else [])
            b = tool_of(bridge, "type_list").input_schema["properties"]["b"]
            if profile == "default":
                item = {"anyOf": [{"type": "object"}, {"type": "null"}]}
                assert b == {"anyOf": [{"type": "array", "items": item}, {"type": "null"}]}
            else:
                assert b["type"] == "array"
            sent = {"b": [{"x": 1}, None]}
            assert await arrived(bridge, tool_of(bridge, "type_list").name, sent) == sent


async def test_every_reference_that_the_model_sees_has_its_target(
    write_config: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Reported: the model saw references to nothing."""
    caplog.set_level("DEBUG", "mcp_bridge")
    shapes = ("ref_defs", "ref_definitions", "ref_dangling", "ref_escaped")
    async with Bridge(load_config(write_config(zoo(*shapes, profile="strict")))) as bridge:
        schemas = {shape: tool_of(bridge, shape).input_schema["properties"] for shape in shapes}
        point = schemas["ref_defs"]["p"]
        assert (point["properties"]["id"], point["description"]) == ({"type": "integer"}, "the point to move")
        line = schemas["ref_defs"]["line"]["items"]["properties"]
        assert line["start"]["properties"]["id"] == line["end"]["properties"]["id"] == {"type": "integer"}
        assert schemas["ref_definitions"]["p"]["properties"]["q"]["properties"]["id"] == {"type": "integer"}
        assert schemas["ref_dangling"] == {
            "a": ANYTHING,
            "b": {"type": "array", "items": ANYTHING},
            "c": {"type": "string"},
        }
        escaped = schemas["ref_escaped"]
        assert [escaped[key].get("type") for key in "abcdf"] == ["integer", "boolean", "integer", "integer", "object"]
    async with Bridge(load_config(write_config(zoo(*shapes)))) as bridge:
        for shape in shapes:
            assert_sendable(tool_of(bridge, shape).input_schema)  # each $ref leads somewhere inside it
        assert tool_of(bridge, "ref_dangling").input_schema["properties"]["a"] == {}
        assert "'#/$defs/Gone' leads nowhere, dropped" in caplog.text
        sent = {"p": {"id": 5}}
        assert await arrived(bridge, tool_of(bridge, "ref_defs").name, {"p": {"id": "5"}}) == sent


@pytest.mark.process
@PROFILES
async def test_no_address_in_a_schema_is_fetched(write_config: Write, tmp_path: Path, profile: str) -> None:
    """Reported: a schema made the bot fetch addresses."""
    with remote(tmp_path) as trap:
        anything = ANYTHING if profile == "strict" else {}
        entries = zoo("ref_remote", profile=profile) + odd("s", "refs_to", f"url={trap.origin}")
        async with Bridge(load_config(write_config(entries))) as bridge:
            for tool in (tool_of(bridge, "refs"), tool_of(bridge, "ref_remote")):
                assert_sendable(tool.input_schema)
                assert tool.input_schema["properties"]["a"] == anything
                assert "$ref" not in json.dumps(tool.input_schema)
            assert tool_of(bridge, "refs").input_schema["properties"]["b"] == {**anything, "description": "kept"}
            assert await arrived(bridge, tool_of(bridge, "refs").name, {"b": 1}) == {"b": 1}
        assert trap.requests() == []


async def test_a_recursive_output_schema_does_not_stop_the_listing(write_config: Write) -> None:
    """Reported: a recursive output schema made the discovery fail."""
    async with Bridge(load_config(write_config(zoo("out_recursive", "out_bad", "out_strict")))) as bridge:
        assert [one.state for one in bridge.status()] == ["ready"] * 3
        for shape in ("out_recursive", "out_bad", "out_strict"):
            assert tool_of(bridge, shape).input_schema == EMPTY
            assert await arrived(bridge, tool_of(bridge, shape).name, {}) in ({}, None)


async def test_the_strict_profile_has_no_keyword_outside_the_providers_subset(write_config: Write) -> None:
    """Reported: keywords outside the provider's subset made the model answer nothing."""
    shapes = ("numbers", "strings", "defaults", "conditionals")
    async with Bridge(load_config(write_config(zoo(*shapes, profile="strict")))) as bridge:
        for shape in shapes:
            schema = tool_of(bridge, shape).input_schema
            assert_sendable(schema)
            assert all(node.keys() <= STRICT_KEYWORDS for node in schemas_in(schema))
        told = {
            name: one.get("description", "")
            for shape in shapes[:3]
            for name, one in ((f"{shape}.{n}", o) for n, o in tool_of(bridge, shape).input_schema["properties"].items())
        }
        for name, said in {
            "numbers.a": "> 0",
            "numbers.b": ">= -1.5",
            "numbers.c": "format: uint64",
            "numbers.d": "> 0",
            "strings.a": "length 1-10",
            "strings.f": "pattern: [unclosed",
        }.items():
            assert said in told[name], name
    async with Bridge(load_config(write_config(zoo(*shapes)))) as bridge:
        for shape in shapes:
            schema = tool_of(bridge, shape).input_schema
            Draft202012Validator.check_schema(schema)
            assert all("default" not in node or node["default"] is not None for node in schemas_in(schema))
        numbers = tool_of(bridge, "numbers").input_schema["properties"]
        assert numbers["a"] == {"type": "integer", "exclusiveMinimum": 0}
        assert numbers["d"] == {"type": "integer", "exclusiveMinimum": 0}
        assert "default" not in tool_of(bridge, "defaults").input_schema["properties"]["a"]


@PROFILES
async def test_anyof_at_the_root_of_a_schema_becomes_one_object(write_config: Write, profile: str) -> None:
    """Reported: one tool with anyOf at its root broke every request."""
    shapes = ("top_anyof", "top_oneof_bare", "top_allof_if", "root_array")
    combinators = {"anyOf", "oneOf", "allOf", "if", "then", "else", "not"}
    async with Bridge(load_config(write_config(zoo(*shapes, profile=profile)))) as bridge:
        found = {shape: tool_of(bridge, shape) for shape in shapes}
        for tool in found.values():
            assert_sendable(tool.input_schema)
            assert not combinators & tool.input_schema.keys()
        root = found["top_anyof"].input_schema
        assert root["properties"] == {"a": {"type": "string"}, "b": {"type": "integer"}}
        assert root.get("required", []) == []
        assert found["top_oneof_bare"].input_schema["required"] == ["kind"]
        assert found["top_allof_if"].input_schema["required"] == ["a", "b"]
        assert found["root_array"].input_schema["properties"] == {}
        for sent in ({"a": "x"}, {"b": 1}):
            assert await arrived(bridge, found["top_anyof"].name, sent) == sent
        for kind in ({"kind": "a", "a": "x"}, {"kind": "b", "b": 1}):
            assert await arrived(bridge, found["top_oneof_bare"].name, kind) == kind


class ChattyHost(BaseTool):
    """A host that adds arguments of its own to every call."""

    host_arguments: ClassVar[set[str]] = {"self", "config", "run_manager", "class", "name", "session", "reasoning"}


@pytest.mark.parametrize("base", [BaseTool, ChattyHost])
async def test_a_parameter_called_like_one_of_the_hosts_arrives(write_config: Write, base: type[Any]) -> None:
    """Reported: a parameter called like one of the host's was swallowed."""
    async with Bridge(load_config(write_config(odd("s", "reserved_params")))) as bridge:
        (tool,) = [one for one in bridge.tools() if one.remote_name == "param_names"]
        made = create_mcp_tool_class(tool, bridge, base)
        assert_sendable(made.input_schema)
        shown = list(made.input_schema["properties"])
        assert not set(shown) & set(base.host_arguments)
        sent = {name: f"value {number}" for number, name in enumerate(shown)}
        added = dict.fromkeys(base.host_arguments, "the host's own")
        answer = await made().execute({**sent, **added})
        got = json.loads(answer["content"])
        originals = "self cls config class def return None model_config user.id user-id name run_manager".split()
        assert set(originals) < set(got)
        assert {"城市", "with space", "p" * 80, "a.b", "a_b", "__class__", "$ref"} < set(got)
        assert len(got) == len(shown)
        assert list(got.values()) == [f"value {number}" for number in range(len(shown))]  # nobody's value went astray
        assert [*got][:4] == ["self", "cls", "config", "class"]


async def test_a_description_over_1024_characters_is_cut_and_told_once(
    write_config: Write, caplog: pytest.LogCaptureFixture
) -> None:
    """Reported: a description over 1024 characters made the provider refuse everything."""
    caplog.set_level("INFO", "mcp_bridge")
    cases: list[tuple[int, dict[str, Any]]] = [(1024, {}), (200, {"max_description_chars": 200})]
    for limit, more in cases:
        caplog.clear()
        async with Bridge(load_config(write_config(zoo("desc_long", **more)))) as bridge:
            await bridge.refresh()
            tool = tool_of(bridge, "desc_long")
            parameter = tool.input_schema["properties"]["a"]["description"]
            assert len(tool.description) == len(parameter) == limit
            assert tool.description.endswith("…")
            assert parameter.endswith("…")
            assert tool.description.startswith("[MCP:desc_long] ")
            assert ("描述工具的用途。" * 625).startswith(tool.description.rpartition("] ")[2].rstrip("…"))
            said = [one.getMessage() for one in caplog.records if "was cut" in one.getMessage()]
            assert said == [f"the description of mcp_desc_long_desc_long was cut to {limit} characters"]


async def test_one_malformed_tool_costs_only_itself(write_config: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Reported: one malformed tool disabled all tools of its server."""
    async with Bridge(load_config(write_config(odd("s", "bad_tools")))) as bridge:
        assert [tool.remote_name for tool in bridge.tools()] == ["echo", "pid", "s1", "s2", "s3"]
        assert tool_of(bridge, "s3").input_schema == EMPTY
        assert await arrived(bridge, "mcp_s_s3", {}) in ({}, None)
        warnings = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
        assert [text.partition(" of its list")[0] for text in warnings] == [
            f"MCP server 's': tool number {number}" for number in range(3, 12)
        ]


async def test_a_debug_line_tells_why_an_output_schema_is_ignored(
    write_config: Write, caplog: pytest.LogCaptureFixture
) -> None:
    """Reported: nobody could tell why an output schema was ignored."""
    caplog.set_level("DEBUG", "mcp_bridge")
    async with Bridge(load_config(write_config(zoo("out_bad")))) as bridge:
        assert tool_of(bridge, "out_bad")
        assert any("outputSchema" in one.getMessage() and "out_bad" in one.getMessage() for one in caplog.records)
