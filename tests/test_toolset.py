"""A toolset: the tools of one server as Python functions, in whatever loop they are called."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, Literal, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mcp_bridge
from mcp_bridge import (
    BridgeError,
    LocalMcpToolset,
    LocalServerParams,
    McpSessionNotEstablishedError,
    McpToolset,
    RemoteMcpToolset,
    RemoteServerParams,
    ServerUnavailable,
    ToolsetState,
)
from mcp_bridge.schema import show
from mcp_bridge.signature import MAX_DOC_CHARS, make_function

from .cases.remote import remote
from .cases.server_log import ServerLog
from .conftest import GENEROUS, ODD_SERVER, alive, children, until
from .test_schema_properties import junk, valid_schemas

pytestmark = pytest.mark.usefixtures("no_children_left")
Function = Callable[..., Any]


def local(mode: str, *args: str, **options: Any) -> LocalMcpToolset:
    return LocalMcpToolset("s", LocalServerParams(sys.executable, [ODD_SERVER, mode, *args]), **options)


def functions(toolset: McpToolset[Any]) -> dict[str, Function]:
    return {function.__name__: function for function in toolset.get_tools()}


# --- calling ---


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


def test_it_is_used_from_a_new_loop_for_each_call() -> None:
    toolset = local("normal")
    asyncio.run(toolset.connect())
    echo = functions(toolset)["mcp_s_echo"]
    for word in ("a", "b", "c"):
        assert asyncio.run(echo(text=word)) == word
    asyncio.run(toolset.disconnect())
    assert toolset.state == "disconnected"


async def test_it_is_used_from_other_threads_and_many_times_at_once() -> None:
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


# --- life ---


async def test_the_states_are_gone_through_again_and_again() -> None:
    toolset = local("slow_init", "delay=0.5")
    assert (toolset.state, toolset.is_connected) == (ToolsetState.CREATED, False)
    await toolset.disconnect()
    assert toolset.state is ToolsetState.CREATED
    for _ in range(2):
        connecting = asyncio.create_task(toolset.connect())
        await until(lambda: toolset.state is ToolsetState.CONNECTING)
        await connecting
        assert (f"{toolset.state}", toolset.is_connected) == ("connected", True)
        await toolset.connect()
        ending = asyncio.create_task(toolset.disconnect())
        await asyncio.sleep(0)
        assert toolset.state is ToolsetState.DISCONNECTING
        await ending
        assert (toolset.state, toolset.is_connected) == ("disconnected", False)
    await toolset.disconnect()


async def test_unconnected_it_says_what_to_do() -> None:
    toolset = local("normal")
    fix = r"created.*await toolset.connect\(\)"
    with pytest.raises(McpSessionNotEstablishedError, match=fix) as raised:
        toolset.get_tools()
    assert isinstance(raised.value, RuntimeError)
    assert isinstance(raised.value, BridgeError)
    with pytest.raises(McpSessionNotEstablishedError, match=fix):
        toolset.get_tool_defs()
    with pytest.raises(McpSessionNotEstablishedError, match=fix):
        await toolset.refresh_tools()
    async with toolset:
        echo = functions(toolset)["mcp_s_echo"]
    with pytest.raises(McpSessionNotEstablishedError, match=r"disconnected.*await toolset.connect\(\)"):
        await echo(text="x")
    async with toolset:
        assert await echo(text="x") == "x"


@pytest.mark.parametrize(
    ("mode", "reason"), [("exit_at_once", "DATABASE_URL is not set"), ("list_error", "-32603|refused|error")]
)
async def test_a_connection_that_fails_says_why_and_leaves_nothing(mode: str, reason: str) -> None:
    toolset = local(mode)
    with pytest.raises(ServerUnavailable, match=rf"MCP server 's' is not available: .*({reason})"):
        await toolset.connect()
    assert toolset.state is ToolsetState.DISCONNECTED


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        (LocalServerParams(""), "command"),
        (LocalServerParams("no-such-program-anywhere"), "no-such-program-anywhere"),
        (LocalServerParams("python", "server.py"), "must be a list"),
        (LocalServerParams("python", ["${NO_SUCH_VARIABLE}"]), "NO_SUCH_VARIABLE is not set"),
        (LocalServerParams("python", env={"A": {}}), r"env\.A"),  # type: ignore[dict-item]
    ],
)
async def test_wrong_parameters_are_told_when_connecting(params: LocalServerParams, reason: str) -> None:
    with pytest.raises(ServerUnavailable, match=reason):
        await LocalMcpToolset("s", params).connect()


async def test_who_stops_waiting_for_a_connection_leaves_no_server() -> None:
    toolset = local("hang_init")
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(toolset.connect(), 1)
    assert toolset.state is ToolsetState.DISCONNECTED


async def test_disconnecting_ends_a_connect_that_hangs() -> None:
    toolset = local("hang_init")
    connecting = asyncio.create_task(toolset.connect())
    await asyncio.sleep(0.5)
    await toolset.disconnect()
    with pytest.raises(BridgeError):
        await connecting
    assert toolset.state is ToolsetState.DISCONNECTED


async def test_connecting_twice_at_once_starts_one_server(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    toolset = local("normal", f"log={log.path}")
    await asyncio.gather(toolset.connect(), toolset.connect())
    assert log.starts() == 1
    await asyncio.gather(toolset.disconnect(), toolset.disconnect())
    assert toolset.state is ToolsetState.DISCONNECTED
    assert not log.running()


async def test_a_running_call_finishes_before_the_server_ends() -> None:
    toolset = local("sleep")
    await toolset.connect()
    running = asyncio.create_task(functions(toolset)["mcp_s_sleep"](seconds=1))
    await asyncio.sleep(0.3)
    await toolset.disconnect()
    assert "slept" in await running


async def test_a_toolset_that_nobody_has_any_more_ends_its_server() -> None:
    before = children()
    toolset = local("normal")
    await toolset.connect()
    function = functions(toolset)["mcp_s_echo"]
    del toolset
    gc.collect()
    assert await function(text="x") == "x"  # who has a function has the toolset
    del function
    gc.collect()
    await until(lambda: children() <= before)


# --- a connection that is lost ---


async def test_without_auto_reconnect_a_lost_connection_stays_lost_until_somebody_connects(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    toolset = local("exit_mid_call", f"log={log.path}")
    await toolset.connect()
    tools = functions(toolset)
    assert "SIGKILL" in await tools["mcp_s_die"]()
    assert toolset.state is ToolsetState.DISCONNECTED
    with pytest.raises(McpSessionNotEstablishedError, match=r"SIGKILL.*await toolset.connect\(\)"):
        await tools["mcp_s_echo"](text="x")
    assert log.starts() == 1
    async with toolset:
        assert await tools["mcp_s_echo"](text="x") == "x"
    assert log.starts() == 2


async def test_with_auto_reconnect_the_next_call_works_and_none_is_made_twice(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    async with local("exit_mid_call", f"log={log.path}", auto_reconnect=True) as toolset:
        tools = functions(toolset)
        assert "SIGKILL" in await tools["mcp_s_die"]()
        assert await tools["mcp_s_echo"](text="x") == "x"
        assert toolset.is_connected
    assert len(log.calls("die")) == 1
    assert log.starts() == 2


@pytest.mark.parametrize("auto_reconnect", [True, False])
async def test_a_server_that_died_between_two_calls(tmp_path: Path, auto_reconnect: bool) -> None:
    log = ServerLog(tmp_path / "log")
    async with local("exit_after_call", f"log={log.path}", auto_reconnect=auto_reconnect) as toolset:
        echo = functions(toolset)["mcp_s_echo"]
        assert await echo(text="x") == "x"
        (pid,) = log.pids()
        await until(lambda: not alive(pid))
        await asyncio.sleep(0.2)  # until we have seen it, too
        answer = await echo(text="y")
        assert toolset.is_connected is auto_reconnect
        if auto_reconnect:
            assert answer == "y"
        else:
            assert "the server stopped" in answer
    assert log.starts() == 1 + auto_reconnect


async def test_refreshing_does_not_bring_a_lost_session_back_by_stealth(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    async with local("exit_after_call", f"log={log.path}") as toolset:
        await functions(toolset)["mcp_s_echo"](text="x")
        (pid,) = log.pids()
        await until(lambda: not alive(pid))
        await asyncio.sleep(0.2)
        with pytest.raises(ServerUnavailable, match="the server stopped"):
            await toolset.refresh_tools()
    assert log.starts() == 1


# --- remote servers ---


@pytest.mark.parametrize(("path", "transport"), [("/mcp", None), ("/mcp", "streamable_http"), ("/sse", "sse")])
async def test_a_remote_server_is_sent_headers_and_token(tmp_path: Path, path: str, transport: str | None) -> None:
    with remote(tmp_path) as server:
        params = RemoteServerParams(f"{server.origin}{path}", {"X-Team": "blue"}, "secret-token", transport)
        async with RemoteMcpToolset("far", params) as toolset:
            assert await functions(toolset)["mcp_far_echo"](text="x") == "x"
        for request in server.requests():
            assert request["headers"]["x-team"] == "blue"
            assert request["headers"]["authorization"] == "Bearer secret-token"
    assert "secret-token" not in repr(params)


async def test_a_remote_server_that_refuses_or_is_not_there_says_so(tmp_path: Path) -> None:
    with remote(tmp_path, "normal", "auth=right") as server:
        toolset = RemoteMcpToolset("far", RemoteServerParams(f"{server.origin}/mcp", bearer_token="wrong-token"))
        with pytest.raises(ServerUnavailable, match="401") as raised:
            await toolset.connect()
        assert "wrong-token" not in str(raised.value)
        server.kill()
        with pytest.raises(ServerUnavailable, match="MCP server 'far' is not available"):
            await toolset.connect()
    assert toolset.state is ToolsetState.DISCONNECTED


async def test_a_remote_server_that_went_away_disconnects_the_toolset(tmp_path: Path) -> None:
    with remote(tmp_path) as server:
        async with RemoteMcpToolset("far", RemoteServerParams(f"{server.origin}/mcp")) as toolset:
            echo = functions(toolset)["mcp_far_echo"]
            server.kill()
            assert "MCP server 'far'" in await asyncio.wait_for(echo(text="x"), GENEROUS)
            assert toolset.state is ToolsetState.DISCONNECTED


# --- shape ---


def test_the_names_are_exported_and_the_base_is_abstract() -> None:
    names = ("McpToolset", "LocalMcpToolset", "RemoteMcpToolset", "LocalServerParams", "RemoteServerParams")
    assert {*names, "ToolsetState", "McpSessionNotEstablishedError"} <= set(mcp_bridge.__all__)
    with pytest.raises(TypeError, match="abstract"):
        McpToolset("s", None)  # type: ignore[abstract]


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


def made(schema: dict[str, Any], call: Any = None) -> Function:
    return make_function("f", "Do it.", schema, call)


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
