"""The package agentscope, generation 2 (its Toolkit takes our clients, or the functions they give).

Needs an environment of its own with Python >= 3.11: `agentscope==2.0.11`; skipped elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import mcp.types
import pytest

from mcp_bridge import CallTimeout, HttpStatefulClient, HttpStatelessClient, MCPToolFunction, StdioStatefulClient
from tests.servers.shapes import PNG, WAV
from tests.support.places import ODD_SERVER
from tests.support.remote import remote
from tests.support.waiting import GENEROUS

try:
    installed = version("agentscope")
except PackageNotFoundError:
    installed = "none"
if not installed.startswith("2."):
    pytest.skip(f"needs agentscope 2.x, found {installed}", allow_module_level=True)

from agentscope.message import DataBlock, TextBlock, ToolCallBlock, ToolResultState
from agentscope.state import AgentState
from agentscope.tool import MCPTool, ToolBase, ToolChunk, Toolkit, ToolResponse

pytestmark = pytest.mark.usefixtures("no_children_left")


def stdio(mode: str, *options: str, name: str = "odd", **more: Any) -> StdioStatefulClient:
    return StdioStatefulClient(name, sys.executable, [str(ODD_SERVER), mode, *options], **more)


async def use(toolkit: Toolkit, tool: str, **arguments: Any) -> ToolResponse:
    """Have the Toolkit call a tool, and return the complete response, which comes last."""
    block = ToolCallBlock(id="1", name=tool, input=json.dumps(arguments))
    response = None
    async for chunk in toolkit.call_tool(block, AgentState()):
        response = chunk
    assert isinstance(response, ToolResponse)
    return response


def text(response: ToolResponse) -> str:
    return "\n".join(block.text for block in response.content if isinstance(block, TextBlock))


async def test_the_toolkit_takes_a_client_and_calls_its_tools() -> None:
    async with stdio("normal", "tools=count") as client:
        toolkit = Toolkit(mcps=[client])
        schemas = {one["function"]["name"]: one["function"] for one in await toolkit.get_tool_schemas()}
        assert list(schemas) == ["echo", "pid", "count"]
        assert schemas["echo"]["description"]
        assert schemas["echo"]["parameters"]["properties"]["text"]["type"] == "string"
        response = await use(toolkit, "echo", text="嗨")
        assert (text(response), response.state) == ("嗨", ToolResultState.SUCCESS)
        assert [text(await use(toolkit, "count")) for _ in range(2)] == ["1", "2"]


async def test_the_toolkit_takes_single_functions() -> None:
    async with stdio("normal") as client:
        toolkit = Toolkit(tools=[await client.get_callable_function(func_name="echo")])
        assert [one["function"]["name"] for one in await toolkit.get_tool_schemas()] == ["echo"]
        assert text(await use(toolkit, "echo", text="x")) == "x"


@pytest.mark.parametrize("kind", [HttpStatelessClient, HttpStatefulClient])
@pytest.mark.parametrize(("transport", "path"), [("streamable_http", "/mcp"), ("sse", "/sse")])
async def test_http_clients_work_in_both_transports(kind: Any, transport: str, path: str, tmp_path: Path) -> None:
    with remote(tmp_path) as server:
        client = kind(name="web", transport=transport, url=server.origin + path, timeout=GENEROUS)
        if client.is_stateful:
            await client.connect()
        assert text(await use(Toolkit(mcps=[client]), "echo", text="x")) == "x"
        await client.close()


async def test_a_stateful_client_that_is_not_connected_is_refused() -> None:
    with pytest.raises(ValueError, match="not connected"):
        Toolkit(mcps=[stdio("normal")])


async def test_a_dead_server_costs_only_its_own_tools() -> None:
    dead = HttpStatelessClient("dead", url="http://127.0.0.1:9/mcp")
    async with stdio("normal") as client:
        toolkit = Toolkit(mcps=[dead, client])
        assert [one["function"]["name"] for one in await toolkit.get_tool_schemas()] == ["echo", "pid"]
    await dead.close()


async def test_names_that_no_model_takes_are_replaced() -> None:
    async with stdio("weird_names") as client:
        toolkit = Toolkit(mcps=[client])
        names = [one["function"]["name"] for one in await toolkit.get_tool_schemas()]
        weird = [tool for tool in await client.list_tools() if tool.name != tool.mcp_tool.remote_name]
    assert weird
    assert len(names) == len(set(names))
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name) for name in names)
    assert all(tool.name == tool.mcp_tool.name for tool in weird)


async def test_pictures_sounds_and_everything_else_arrive() -> None:
    async with stdio("results") as client:
        toolkit = Toolkit(mcps=[client])
        blocks = (await use(toolkit, "mixed")).content
        assert [block.type for block in blocks] == ["text", "data", "text", "data", "text"]  # it joins texts
        media = [block.source for block in blocks if isinstance(block, DataBlock)]
        assert [(one.media_type, one.data) for one in media] == [("image/png", PNG), ("audio/wav", WAV)]
        assert "https://example.invalid/report.pdf" in blocks[2].text
        assert "embedded note" in blocks[2].text
        assert text(await use(toolkit, "unknown_type")).startswith("known")
        assert json.loads(text(await use(toolkit, "structured_only"))) == {"answer": 42, "items": ["甲", "乙"]}


async def test_failures_reach_the_model_as_errors_that_name_the_server() -> None:
    async with stdio("results") as client:
        toolkit = Toolkit(mcps=[client])
        for tool, reason in (("rpc_error", "backend unavailable"), ("is_error", "disk is full")):
            response = await use(toolkit, tool)
            assert response.state == ToolResultState.ERROR
            assert f"MCP server 'odd' reported an error: {reason}" in text(response)


async def test_a_function_is_one_of_agentscopes_and_one_of_ours() -> None:
    async with stdio("normal") as client:
        function = await client.get_callable_function(func_name="echo", wrap_tool_result=True, execution_timeout=None)
        assert isinstance(function, (MCPTool, ToolBase))
        assert isinstance(function, MCPToolFunction)
        assert (function.name, function.mcp_name, getattr(function, "is_mcp", None)) == ("echo", "odd", True)
        assert isinstance(await function(text="x"), ToolChunk)
        raw = await client.get_callable_function(func_name="echo", wrap_tool_result=False)
        result = await raw(text="x")
        assert isinstance(result, mcp.types.CallToolResult)
        assert [vars(block).get("text") for block in result.content] == ["x"]


async def test_only_what_is_read_only_is_allowed_unasked() -> None:
    async with stdio("schema_zoo") as client:
        read_only = await client.get_callable_function("annotations")
        other = await client.get_callable_function("echo")
        odd = await client.get_callable_function("annotations_odd")
    assert (read_only.is_read_only, other.is_read_only, odd.is_read_only) == (True, False, False)  # type: ignore[attr-defined]


async def test_an_execution_timeout_is_in_seconds() -> None:
    async with stdio("sleep") as client:
        function = await client.get_callable_function("sleep", execution_timeout=0.5)
        started = time.monotonic()
        with pytest.raises(CallTimeout, match="'odd'"):
            await function(seconds=60)
        assert 0.5 <= time.monotonic() - started < GENEROUS


async def test_clients_may_be_closed_first_in_first_out() -> None:
    clients = [stdio("normal", name=f"odd{number}") for number in range(3)]
    for client in clients:
        await client.connect()
    for client in clients:
        await asyncio.create_task(client.close())
        assert not client.is_connected
