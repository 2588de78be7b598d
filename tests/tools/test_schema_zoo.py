"""Siblings of the schema cases: every odd schema that generators and people write, through a whole bridge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge import Bridge, create_mcp_tool_class, load_config
from tests.support.entries import Write, odd
from tests.support.schema_checks import EMPTY, TYPES, assert_sendable
from tests.support.schema_zoo import PROFILES, arrived, tool_of, zoo

pytestmark = pytest.mark.usefixtures("no_children_left")
REQUEST_CHARS = 2_000_000
"""Far more than any model API takes in one request."""


@PROFILES
async def test_a_whole_zoo_of_schemas_can_be_sent_in_one_request(write_config: Write, profile: str) -> None:
    head = f'[mcp]\nschema_profile = "{profile}"\n'
    async with Bridge(load_config(write_config(head + odd("s", "schema_zoo")))) as bridge:
        tools = bridge.tools()
        assert len(tools) == len({tool.name for tool in tools}) >= 68
        for tool in tools:
            assert_sendable(tool.input_schema)
            assert tool.description.startswith("[MCP:s] ")
            assert len(tool.description) <= 1024
            made = create_mcp_tool_class(tool, bridge)
            assert [one[0] for one in made.parameters] == list(tool.input_schema["properties"])
            for name, kind, description, required, enum in made.parameters:
                assert kind in TYPES, name
                assert description
                assert required is (name in tool.input_schema.get("required", ()))
                assert enum is None or enum
        assert len(json.dumps([tool.input_schema for tool in tools])) < REQUEST_CHARS


@PROFILES
async def test_a_schema_that_refers_to_itself_neither_hangs_nor_floods(write_config: Write, profile: str) -> None:
    shapes = ("ref_recursive", "ref_cycle", "ref_self", "ref_chain", "ref_doubling", "ref_root", "ref_inside")
    async with Bridge(load_config(write_config(zoo(*shapes, profile=profile)))) as bridge:
        for shape in shapes:
            tool = tool_of(bridge, shape)
            assert_sendable(tool.input_schema)
            assert len(json.dumps(tool.input_schema)) <= 200_000
        tree = {"tree": {"value": 1, "next": {"value": 2, "next": {"value": 3}}}}
        assert await arrived(bridge, tool_of(bridge, "ref_recursive").name, tree) == tree
        assert await arrived(bridge, tool_of(bridge, "ref_chain").name, {"a": 7}) == {"a": 7}
        assert tool_of(bridge, "ref_root").input_schema["required"] == ["a"]


@PROFILES
async def test_parameters_named_like_schema_keywords_arrive_under_their_names(
    write_config: Write, profile: str
) -> None:
    sent = {
        "type": "x",
        "properties": {"$ref": "main"},
        "$ref": "v1",
        "required": True,
        "items": ["a"],
        "default": 1,
        "anyOf": "b",
        "$defs": "c",
    }
    async with Bridge(load_config(write_config(zoo("trap_names", profile=profile)))) as bridge:
        tool = tool_of(bridge, "trap_names")
        assert_sendable(tool.input_schema)
        shown = dict(zip(tool.input_schema["properties"], sent, strict=False))  # renamed at need, in the same order
        given = {name: sent[original] for name, original in shown.items()}
        (inner,) = tool.input_schema["properties"]["properties"]["properties"]
        given["properties"] = {inner: "main"}
        assert await arrived(bridge, tool.name, given) == sent


@PROFILES
async def test_a_schema_400_levels_deep_is_shown_and_called(write_config: Write, profile: str) -> None:
    async with Bridge(load_config(write_config(zoo("nested_abyss", "nested_deep", profile=profile)))) as bridge:
        sent: dict[str, Any] = {}
        for _ in range(50):
            sent = {"child": sent}
        for shape in ("nested_abyss", "nested_deep"):
            assert_sendable(tool_of(bridge, shape).input_schema)
            assert await arrived(bridge, tool_of(bridge, shape).name, sent) == sent
            assert (await bridge.call(f"mcp_{shape}_echo", {"text": "x"})).text == "x"


async def test_a_schema_that_is_text_null_or_under_another_key_costs_only_the_parameters(write_config: Write) -> None:
    shapes = ("schema_string", "schema_null", "schema_snake", "schema_true", "root_string")
    async with Bridge(load_config(write_config(zoo(*shapes)))) as bridge:
        assert [one.tools for one in bridge.status()] == [3] * 5
        for shape in shapes:
            assert tool_of(bridge, shape).input_schema == EMPTY
            assert await arrived(bridge, tool_of(bridge, shape).name, {"a": "x"}) == {"a": "x"}


async def test_a_tool_with_no_usable_description_is_told_by_its_name_and_server(write_config: Write) -> None:
    shapes = ("desc_missing", "desc_null", "desc_number", "desc_list", "annotations_odd")
    async with Bridge(load_config(write_config(zoo(*shapes)))) as bridge:
        for shape in shapes[:4]:
            said = f"[MCP:{shape}] Tool '{shape}' of MCP server '{shape}'."
            assert tool_of(bridge, shape).description == said
        assert tool_of(bridge, "annotations_odd").annotations == {}


async def test_hundreds_of_tools_are_cut_to_the_same_ones_every_time(
    write_config: Write, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    kept = []
    entries = odd("s", "many_tools") + odd("t", "normal")
    for number in range(2):
        async with Bridge(load_config(write_config(entries)), data_dir=tmp_path / str(number)) as bridge:
            kept.append(sorted(tool.name for tool in bridge.tools()))
    assert len(kept[0]) == 128
    assert kept[0] == kept[1]
    assert kept[0][:3] == ["mcp_s_echo", "mcp_s_many_000", "mcp_s_many_001"]
    assert "more than max_tools = 128 tools; not offered: mcp_s_many_127" in caplog.text


@PROFILES
async def test_400_parameters_or_2000_values_neither_vanish_nor_flood(write_config: Write, profile: str) -> None:
    async with Bridge(load_config(write_config(zoo("many_properties", "enum_huge", profile=profile)))) as bridge:
        assert len(tool_of(bridge, "many_properties").input_schema["properties"]) == 400
        a = tool_of(bridge, "enum_huge").input_schema["properties"]["a"]
        assert len(a["enum"]) == 500
        assert "1500 more values" in a["description"]
        for shape, sent in (("many_properties", {"p399": "x"}), ("enum_huge", {"a": "v1999"})):
            assert await arrived(bridge, tool_of(bridge, shape).name, sent) == sent
