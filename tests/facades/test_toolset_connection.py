"""The life of a toolset: its states, a connection that is lost, and servers that are far."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest

from mcp_bridge import (
    BridgeError,
    LocalMcpToolset,
    LocalServerParams,
    McpSessionNotEstablishedError,
    RemoteMcpToolset,
    RemoteServerParams,
    ServerUnavailable,
    ToolsetState,
)
from tests.support.odd_toolset import functions, local
from tests.support.processes import alive, children
from tests.support.remote import remote
from tests.support.server_log import ServerLog
from tests.support.waiting import GENEROUS, until

pytestmark = pytest.mark.usefixtures("no_children_left")


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
        assert str(toolset.state) == "disconnecting"
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


@pytest.mark.process
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


@pytest.mark.process
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


@pytest.mark.process
async def test_a_remote_server_that_went_away_disconnects_the_toolset(tmp_path: Path) -> None:
    with remote(tmp_path) as server:
        async with RemoteMcpToolset("far", RemoteServerParams(f"{server.origin}/mcp")) as toolset:
            echo = functions(toolset)["mcp_far_echo"]
            server.kill()
            assert "MCP server 'far'" in await asyncio.wait_for(echo(text="x"), GENEROUS)
            assert toolset.state is ToolsetState.DISCONNECTED
