"""The toolset inside the real package `liteai-sdk`, which pins the oldest SDK that we support."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_bridge import LocalMcpToolset, LocalServerParams, McpSessionNotEstablishedError
from tests.support.places import CALCULATOR, ODD_SERVER

# Its own imports leave warnings, which are not ours.
liteai_sdk = pytest.importorskip("liteai_sdk", reason="needs the package liteai-sdk")
pytestmark = [
    pytest.mark.usefixtures("no_children_left"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


def connected(name: str, *command: Any, **options: Any) -> LocalMcpToolset:
    """Return a toolset that was connected in a loop that is over."""
    toolset = LocalMcpToolset(name, LocalServerParams(sys.executable, list(command)), **options)
    asyncio.run(toolset.connect())
    return toolset


@pytest.fixture
def calculator() -> Iterator[LocalMcpToolset]:
    toolset = connected("calc", CALCULATOR)
    yield toolset
    asyncio.run(toolset.disconnect())


@pytest.fixture
def odd_names() -> Iterator[LocalMcpToolset]:
    toolset = connected("s", ODD_SERVER, "reserved_params", tool_filter=["param_names"])
    yield toolset
    asyncio.run(toolset.disconnect())


def request(**more: Any) -> Any:
    from liteai_sdk.types.request_params import LlmRequestParams

    return LlmRequestParams(model="m", messages=[liteai_sdk.UserMessage(content="hi")], **more)


def test_prepare_tools_sees_types_and_what_is_required(calculator: LocalMcpToolset) -> None:
    from liteai_sdk.tool.prepare import prepare_tools

    prepared = {one["function"]["name"]: one["function"] for one in prepare_tools(calculator.get_tools())}
    add = prepared["mcp_calc_add"]
    assert "Add two numbers" in add["description"]
    assert {name: one["type"] for name, one in add["parameters"]["properties"].items()} == {
        "a": "number",
        "b": "number",
    }
    assert add["parameters"]["required"] == ["a", "b"]


def test_tool_defs_carry_the_exact_schema(calculator: LocalMcpToolset, odd_names: LocalMcpToolset) -> None:
    from liteai_sdk.tool.prepare import prepare_tools

    for toolset in (calculator, odd_names):
        definitions = toolset.get_tool_defs()
        prepared = prepare_tools(definitions)
        for function, definition, one in zip(toolset.get_tools(), definitions, prepared, strict=True):
            assert isinstance(definition, liteai_sdk.ToolDef)
            assert one["function"]["name"] == function.__name__
            assert one["function"]["parameters"] == vars(function)["_mcp_tool"].input_schema
            one["function"]["parameters"].clear()
            assert vars(function)["_mcp_tool"].input_schema["type"] == "object"


def test_tools_are_executed_without_and_within_a_loop(calculator: LocalMcpToolset) -> None:
    for tools in (calculator.get_tools(), calculator.get_tool_defs()):
        add = liteai_sdk.find_tool_by_name(tools, "mcp_calc_add")
        assert float(liteai_sdk.execute_tool_sync(add, '{"a": 5, "b": 3}')) == 8
        assert float(liteai_sdk.execute_tool_sync(add, {"a": 1, "b": 2})) == 3
        assert float(asyncio.run(liteai_sdk.execute_tool(add, {"a": 2, "b": 2}))) == 4


def test_odd_parameter_names_arrive_and_nothing_else(odd_names: LocalMcpToolset) -> None:
    (function,), (definition,) = odd_names.get_tools(), odd_names.get_tool_defs()
    for tool in (function, definition):
        answer = liteai_sdk.execute_tool_sync(tool, '{"class": "1", "user-id": "2", "self": "3"}')
        assert liteai_sdk.tool.execute.json.loads(answer) == {"class": "1", "user-id": "2", "self": "3"}


def test_a_request_takes_the_toolset_as_one_of_its_own(calculator: LocalMcpToolset) -> None:
    from liteai_sdk import ToolMessage

    asked = request(toolsets=[calculator])
    assert asked.find_tool("mcp_calc_add") is not None
    call = ToolMessage(tool_call_id="1", name="mcp_calc_add", arguments='{"a": 5, "b": 3}', result=None, error=None)
    for outcome in (
        liteai_sdk.LLM.execute_tool_call_sync(asked, call),
        asyncio.run(liteai_sdk.LLM.execute_tool_call(asked, call)),
    ):
        assert (float(outcome[0]), outcome[1]) == (8.0, None)


def test_what_is_sent_to_the_model_api_names_the_tools(calculator: LocalMcpToolset) -> None:
    from liteai_sdk.param_parser import ParamParser
    from litellm.types.utils import LlmProviders

    parsed = ParamParser(LlmProviders.OPENAI, "http://localhost", "k").parse_nonstream(request(toolsets=[calculator]))
    assert "mcp_calc_add" in {one["function"]["name"] for one in parsed["tools"]}


def test_after_a_disconnect_the_program_is_told_what_to_do() -> None:
    toolset = connected("calc", CALCULATOR)
    tools = toolset.get_tools()
    asyncio.run(toolset.disconnect())
    with pytest.raises(McpSessionNotEstablishedError, match="connect"):
        liteai_sdk.execute_tool_sync(tools[0], {"a": 1, "b": 2})
    with pytest.raises(McpSessionNotEstablishedError):
        request(toolsets=[toolset]).extract_tools()
