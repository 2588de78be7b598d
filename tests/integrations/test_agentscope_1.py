"""The package agentscope, generation 1 (its Toolkit registers and calls what our clients give).

Needs an environment of its own: `agentscope==1.0.21 "mcp<2" greenlet tqdm`; skipped elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import mcp.types
import pytest

from mcp_bridge import CallTimeout, HttpStatefulClient, HttpStatelessClient, MCPToolFunction, StdIOStatefulClient
from tests.servers.shapes import PNG, WAV
from tests.support.places import ODD_SERVER
from tests.support.raw_model import Turn, raw_model, saying
from tests.support.remote import remote
from tests.support.waiting import GENEROUS

try:
    installed = version("agentscope")
except PackageNotFoundError:
    installed = "none"
if not installed.startswith("1."):
    pytest.skip(f"needs agentscope 1.x, found {installed}", allow_module_level=True)

import agentscope.mcp
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg, ToolUseBlock
from agentscope.model import OpenAIChatModel
from agentscope.tool import Toolkit, ToolResponse

pytestmark = pytest.mark.usefixtures("no_children_left")


def stdio(mode: str, *options: str, name: str = "odd", **more: Any) -> StdIOStatefulClient:
    return StdIOStatefulClient(name, sys.executable, [str(ODD_SERVER), mode, *options], **more)


async def use(toolkit: Toolkit, tool: str, **arguments: Any) -> ToolResponse:
    """Have the Toolkit call a tool, and return the last of what it gives."""
    block = ToolUseBlock(type="tool_use", id="1", name=tool, input=arguments)
    response = None
    async for chunk in await toolkit.call_tool_function(block):
        response = chunk
    assert isinstance(response, ToolResponse)
    return response


async def test_the_toolkit_registers_a_client_and_calls_its_tools() -> None:
    toolkit = Toolkit()
    async with stdio("normal", "tools=count") as client:
        await toolkit.register_mcp_client(client)
        schemas = {one["function"]["name"]: one["function"] for one in toolkit.get_json_schemas()}
        assert list(schemas) == ["echo", "pid", "count"]
        assert schemas["echo"]["description"]
        assert schemas["echo"]["parameters"]["properties"]["text"]["type"] == "string"
        assert (await use(toolkit, "echo", text="嗨")).content == [{"type": "text", "text": "嗨"}]
        assert [(await use(toolkit, "count")).content[0]["text"] for _ in range(2)] == ["1", "2"]
        await toolkit.remove_mcp_clients(["odd"])
        assert toolkit.get_json_schemas() == []


@pytest.mark.parametrize("kind", [HttpStatelessClient, HttpStatefulClient])
@pytest.mark.parametrize(("transport", "path"), [("streamable_http", "/mcp"), ("sse", "/sse")])
async def test_http_clients_work_in_both_transports(kind: Any, transport: str, path: str, tmp_path: Path) -> None:
    toolkit = Toolkit()
    with remote(tmp_path) as server:
        client = kind(name="web", transport=transport, url=server.origin + path, timeout=GENEROUS)
        if client.is_stateful:
            await client.connect()
        await toolkit.register_mcp_client(client, execution_timeout=GENEROUS)
        assert (await use(toolkit, "echo", text="x")).content == [{"type": "text", "text": "x"}]
        await client.close()


async def test_a_client_that_is_not_connected_is_refused_with_the_fix() -> None:
    with pytest.raises(RuntimeError, match=r"await its connect\(\)"):
        await Toolkit().register_mcp_client(stdio("normal"))


async def test_preset_arguments_are_hidden_from_the_model_only_there() -> None:
    toolkit = Toolkit()
    async with stdio("normal") as client:
        await toolkit.register_mcp_client(client, preset_kwargs_mapping={"echo": {"text": "preset"}})
        shown = {one["function"]["name"]: one["function"] for one in toolkit.get_json_schemas()}
        assert shown["echo"]["parameters"]["properties"] == {}
        assert (await use(toolkit, "echo")).content[0]["text"] == "preset"
        assert (await client.list_tools())[0].inputSchema["properties"]


async def test_pictures_sounds_and_everything_else_arrive() -> None:
    toolkit = Toolkit()
    async with stdio("results") as client:
        await toolkit.register_mcp_client(client, enable_funcs=["mixed", "embedded_blob", "unknown_type"])
        blocks = (await use(toolkit, "mixed")).content
        assert [block["type"] for block in blocks] == ["text", "image", "text", "text", "text", "audio", "text"]
        assert blocks[1]["source"] == {"type": "base64", "media_type": "image/png", "data": PNG}
        assert blocks[5]["source"] == {"type": "base64", "media_type": "audio/wav", "data": WAV}
        (picture,) = (await use(toolkit, "embedded_blob")).content
        assert picture["source"]["data"] == PNG
        assert (await use(toolkit, "unknown_type")).content[0]["text"] == "known"


async def test_failures_reach_the_model_as_text_that_names_the_server() -> None:
    toolkit = Toolkit()
    async with stdio("results") as client:
        await toolkit.register_mcp_client(client, enable_funcs=["rpc_error", "is_error"])
        told = [(await use(toolkit, tool)).content[0]["text"] for tool in ("rpc_error", "is_error")]
    assert "MCP server 'odd' reported an error: backend unavailable" in told[0]
    assert "MCP server 'odd' reported an error: disk is full" in told[1]
    assert "'odd'" in (await use(toolkit, "is_error")).content[0]["text"]  # the client is closed now


async def test_a_function_is_one_of_agentscopes_and_one_of_ours() -> None:
    async with stdio("normal") as client:
        function = await client.get_callable_function(func_name="echo", wrap_tool_result=True, execution_timeout=None)
        assert isinstance(function, agentscope.mcp.MCPToolFunction)
        assert isinstance(function, MCPToolFunction)
        assert (function.name, function.mcp_name) == ("echo", "odd")
        assert isinstance(await function(text="x"), ToolResponse)
        raw = await client.get_callable_function(func_name="echo", wrap_tool_result=False)
        result = await raw(text="x")
        assert isinstance(result, mcp.types.CallToolResult)
        assert result.content[0].text == "x"  # type: ignore[union-attr]


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


async def test_an_agent_uses_a_tool() -> None:
    """The whole way: a model asks for the tool, the agent calls it, the model gets the answer."""
    toolkit = Toolkit()
    function = {"name": "echo", "arguments": json.dumps({"text": "from the server"})}
    asking = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    with raw_model(Turn([], asking), saying("done")) as served:
        options = {"base_url": served.base_url, "max_retries": 0}
        model = OpenAIChatModel(model_name="m", api_key="key", stream=False, client_kwargs=options)
        async with stdio("normal") as client:
            await toolkit.register_mcp_client(client)
            agent = ReActAgent(
                name="a", sys_prompt="help", model=model, formatter=OpenAIChatFormatter(), toolkit=toolkit
            )
            answer = await agent(Msg("user", "say it", "user"))
    assert answer.get_text_content() == "done"
    assert {tool["function"]["name"] for tool in served.requests[0]["tools"]} >= {"echo", "pid"}
    assert "from the server" in json.dumps(served.requests[1]["messages"])
