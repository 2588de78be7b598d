"""A toolset: the tools of one server as Python functions, in whatever loop they are called."""

from __future__ import annotations

import asyncio
import inspect
import json
from types import FunctionType
from typing import Any, get_type_hints

import pytest

import mcp_bridge
from mcp_bridge import McpToolset
from tests.support.odd_toolset import functions, local

pytestmark = pytest.mark.usefixtures("no_children_left")


async def test_a_tool_is_a_plain_coroutine_function_that_returns_text() -> None:
    async with local("normal") as toolset:
        echo = functions(toolset)["mcp_s_echo"]
        assert isinstance(echo, FunctionType)
        assert inspect.iscoroutinefunction(echo)
        assert await echo(text="嗨") == "嗨"
        assert inspect.signature(echo).parameters["text"].default is inspect.Parameter.empty
        assert get_type_hints(echo) == {"text": str, "return": str}
        assert echo.__doc__ == "[MCP:s] Return the text."
        tool = vars(echo)["_mcp_tool"]
        assert (tool.name, tool.remote_name, tool.server) == ("mcp_s_echo", "echo", "s")
        assert tool.inputSchema["properties"] == {"text": {"type": "string"}}


def test_a_toolset_is_used_from_a_new_loop_for_each_call() -> None:
    toolset = local("normal")
    asyncio.run(toolset.connect())
    echo = functions(toolset)["mcp_s_echo"]
    for word in ("a", "b", "c"):
        assert asyncio.run(echo(text=word)) == word
    asyncio.run(toolset.disconnect())
    assert toolset.state == "disconnected"


async def test_a_toolset_is_used_from_other_threads_and_many_times_at_once() -> None:
    async with local("normal") as toolset:
        echo = functions(toolset)["mcp_s_echo"]
        beside = [asyncio.to_thread(asyncio.run, echo(text=str(number))) for number in range(4)]
        here = [echo(text=str(number)) for number in range(4)]
        assert await asyncio.gather(*beside, *here) == [str(number) for number in range(4)] * 2


async def test_a_server_remembers_what_earlier_calls_did() -> None:
    async with local("normal", "tools=count") as toolset:
        count = functions(toolset)["mcp_s_count"]
        assert [await count() for _ in range(3)] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("mode", "tool", "words"),
    [
        ("result_is_error", "is_error", "Tool 'is_error' of MCP server 's' reported an error: disk is full"),
        ("result_rpc_error", "rpc_error", "backend unavailable"),
        ("exit_mid_call", "die", "SIGKILL"),
    ],
)
async def test_a_failure_is_text_that_names_the_server(mode: str, tool: str, words: str) -> None:
    async with local(mode) as toolset:
        text = await functions(toolset)[f"mcp_s_{tool}"]()
    assert words in text
    assert "'s'" in text


async def test_names_that_are_no_python_parameters_are_keywords_and_nothing_else_is_sent() -> None:
    async with local("reserved_params") as toolset:
        function = functions(toolset)["mcp_s_param_names"]
        given = {"class": "1", "user.id": "2", "user-id": "3", "self": "4", "arguments": "5", "kwargs": "6"}
        assert json.loads(await function(**given)) == given
        assert json.loads(await function()) == {}
        parameters = inspect.signature(function).parameters
        assert parameters["self"].default is None
        assert "class" not in parameters
        assert parameters["kwargs_"].kind is inspect.Parameter.VAR_KEYWORD
        assert "class (optional)" in str(function.__doc__)


# --- choosing and naming ---


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        ({"echo"}, ["mcp_s_echo"]),
        ("echo", ["mcp_s_echo"]),
        (["mcp_s_pid"], ["mcp_s_pid"]),
        ((), []),
        (lambda tool: tool.remote_name != "echo", ["mcp_s_pid"]),
        (lambda tool: tool.name.endswith("echo"), ["mcp_s_echo"]),
    ],
)
async def test_a_filter_chooses_tools_by_name_or_as_it_likes(chosen: Any, names: list[str]) -> None:
    async with local("normal", tool_filter=chosen) as toolset:
        assert list(functions(toolset)) == names
        await toolset.refresh_tools()
        assert list(functions(toolset)) == names


@pytest.mark.parametrize("prefix", [None, "", "my-", "9 ", "p" * 70])
@pytest.mark.parametrize("mode", ["weird_names", "long_names", "collide"])
async def test_each_function_calls_its_own_tool_whatever_the_prefix(mode: str, prefix: str | None) -> None:
    async with local(mode, tool_prefix=prefix) as toolset:
        found = {name: one for name, one in functions(toolset).items() if "number" in str(one.__doc__)}
        assert len(found) >= 8
        for name, function in found.items():
            assert name == vars(function)["_mcp_tool"].name
            called = json.loads(await function(text="x"))
            assert called == {"called": vars(function)["_mcp_tool"].remote_name, "arguments": {"text": "x"}}


async def test_a_prefix_takes_the_place_of_the_servers_name() -> None:
    async with local("normal", tool_prefix="calc_", tool_filter=["calc_echo"]) as toolset:
        assert await functions(toolset)["calc_echo"](text="x") == "x"


async def test_all_tools_of_a_server_are_there_however_many() -> None:
    async with local("many_tools", "count=300") as toolset:
        assert len(toolset.get_tools()) == 302


async def test_tools_that_come_later_are_found() -> None:
    async with local("list_changed") as toolset:
        await functions(toolset)["mcp_s_grow"]()
        await toolset.refresh_tools()
        assert "mcp_s_grown1" in functions(toolset)


# --- names that programs import ---


def test_the_names_are_exported_and_the_base_is_abstract() -> None:
    names = ("McpToolset", "LocalMcpToolset", "RemoteMcpToolset", "LocalServerParams", "RemoteServerParams")
    assert {*names, "ToolsetState", "McpSessionNotEstablishedError"} <= set(mcp_bridge.__all__)
    with pytest.raises(TypeError, match="abstract"):
        McpToolset("s", None)  # type: ignore[abstract]
