"""Results as blocks in the style of agentscope, and as the SDK has them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import mcp.types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge import MCPToolFunction, ServerUnavailable, ToolResult
from mcp_bridge.facades.tool_response import readable_content
from mcp_bridge.tools.result import convert
from mcp_bridge.tools.tool import RemoteTool, present
from tests.servers.shapes import BODIES, PNG, WAV
from tests.support.odd_client import call, stdio, texts

pytestmark = pytest.mark.usefixtures("no_children_left", "no_agentscope")


async def test_blocks_come_in_the_servers_order() -> None:
    async with stdio("result_mixed") as client:
        blocks = await call(client, "mixed")
    assert [block["type"] for block in blocks] == ["text", "image", "text", "text", "text", "audio", "text"]
    assert blocks[1]["source"] == {"type": "base64", "media_type": "image/png", "data": PNG}
    assert blocks[5]["source"] == {"type": "base64", "media_type": "audio/wav", "data": WAV}
    assert "https://example.invalid/report.pdf" in blocks[3]["text"]
    assert "embedded note" in blocks[4]["text"]


async def test_an_unwrapped_result_is_the_sdks_own() -> None:
    async with stdio("results") as client:
        result = await call(client, "mixed", wrap=False)
        assert isinstance(result, mcp.types.CallToolResult)
        assert [block.type for block in result.content] == [
            block["type"]
            for block in BODIES["mixed"][1]["result"]["content"]  # type: ignore[index]
        ]
        structured = await call(client, "structured_both", wrap=False)
        assert structured.model_dump(by_alias=True)["structuredContent"] == {"answer": 42}


async def test_no_shape_of_a_result_gets_lost() -> None:
    """Whatever a server answers, there is a block and, unwrapped, the SDK's class."""
    async with stdio("results") as client:
        for shape in BODIES:
            blocks = await call(client, shape)
            raw = await call(client, shape, wrap=False)
            assert blocks, shape
            assert {block["type"] for block in blocks} <= {"text", "image", "audio"}, shape
            assert len(texts(blocks)) <= client._config.max_result_chars + 200, shape
            assert isinstance(raw, mcp.types.CallToolResult), shape
            assert raw.model_dump(by_alias=True)["isError"] == blocks.is_error, shape


async def test_a_failure_of_the_tool_is_told_as_one_and_by_whom() -> None:
    async with stdio("results") as client:
        for tool, reason in (("is_error", "disk is full"), ("rpc_error", "backend unavailable")):
            response = await call(client, tool)
            assert response.is_error
            assert f"Tool '{tool}' of MCP server 'odd' reported an error: {reason}" in texts(response)
            raw = (await call(client, tool, wrap=False)).model_dump(by_alias=True)
            assert raw["isError"] is True
            assert raw["content"][0]["text"].startswith(reason)


async def test_a_long_text_is_cut_in_the_middle() -> None:
    async with stdio("result_huge", max_result_chars=1000) as client:
        text = texts(await call(client, "huge"))
        assert len(text) <= 1000
        assert text.startswith("HEAD")
        assert text.endswith("TAIL")
        whole = await call(client, "huge", wrap=False)
        assert len(whole.content[0].text) > 600_000


async def test_an_unknown_kind_of_block_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with stdio("result_unknown_type") as client:
        with caplog.at_level(logging.WARNING, logger="mcp_bridge.facades.tool_response"):
            assert texts(await call(client, "unknown_type")).startswith("known\n")
    assert "unknown kind 'hologram'" in caplog.text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just(PNG),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
content_blocks = json_values | st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "audio", "resource", "resource_link", "video"])},
    optional={
        "text": json_values,
        "data": st.just(PNG) | json_values,
        "mimeType": st.just("image/png") | json_values,
        "uri": json_values,
        "resource": st.fixed_dictionaries({}, optional={"text": json_values, "blob": st.just(PNG), "uri": json_values}),
    },
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "content": st.lists(content_blocks, max_size=6) | json_values,
            "structuredContent": json_values,
            "isError": st.booleans(),
        },
    ),
    st.integers(100, 300),
)
def test_whatever_comes_there_are_readable_blocks_within_the_limit(wire: dict[str, Any], limit: int) -> None:
    result = convert(wire, max_chars=limit)
    blocks = readable_content(result, result.text, limit)
    assert blocks
    told = [block["text"] for block in blocks if block["type"] == "text"]
    assert sum(map(len, told)) <= limit
    assert [block["type"] for block in blocks if block["type"] != "text"] == [
        media.type for media in result.media if media.type != "file"
    ]
    assert told or result.structured is None
    content = wire.get("content")
    has_text = isinstance(content, list) and any(isinstance(b, dict) and b.get("type") == "text" for b in content)
    assert result.structured is None or has_text or blocks[0]["text"] == result.text  # it tells the structured one
    assert all(set(block) == {"type", "data", "mimeType"} for block in blocks if block["type"] != "text")


async def test_the_text_for_the_model_leaves_the_callers_error_unchanged() -> None:
    """The bridge may hold or log the same error: the function raises a copy with another text."""
    failed = ServerUnavailable("the server stopped", server="s", retry=False, status=503, cause="exit")

    async def fail(name: str, arguments: Mapping[str, Any], seconds: float | None) -> ToolResult:
        raise failed

    tool = present("mcp_s_t", RemoteTool("s", "t"))
    assert tool is not None
    with pytest.raises(ServerUnavailable, match="tool 't' of MCP server 's': the server stopped") as raised:
        await MCPToolFunction(fail, tool, max_chars=100)()
    assert raised.value.__cause__ is failed
    assert failed.message == "the server stopped"
    assert vars(raised.value) == vars(failed)
