"""Clients in the style of agentscope, without agentscope: what they list, find and take."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import mcp_bridge
from mcp_bridge import (
    CallTimeout,
    ConfigError,
    HttpStatefulClient,
    HttpStatelessClient,
    MCPToolFunction,
    ServerUnavailable,
    StdioStatefulClient,
)
from mcp_bridge.facades import agentscope
from tests.support.odd_client import call, stdio, texts
from tests.support.remote import remote
from tests.support.waiting import GENEROUS, until

pytestmark = pytest.mark.usefixtures("no_children_left", "no_agentscope")


def test_both_spellings_are_one_class() -> None:
    assert mcp_bridge.StdIOStatefulClient is StdioStatefulClient


async def test_tools_have_the_servers_own_names_and_give_blocks() -> None:
    async with stdio("normal") as client:
        assert client.is_connected
        tools = await client.list_tools()
        assert [tool.name for tool in tools] == ["echo", "pid"]
        assert all(tool.description for tool in tools)
        assert tools[0].inputSchema["properties"]["text"]["type"] == "string"
        response = await call(client, "echo", text="嗨")
        assert response == [{"type": "text", "text": "嗨"}]
        assert response.content == response
        assert not response.is_error
        assert texts(await tools[0](text="listed tools can be called, too")) == "listed tools can be called, too"
    assert not client.is_connected


async def test_names_that_no_model_takes_are_shown_as_they_are() -> None:
    async with stdio("weird_names") as client:
        names = [tool.name for tool in await client.list_tools()]
        weird = [name for name in names if not name.isidentifier()]
        assert weird
        assert (await client.get_callable_function(weird[0])).name == weird[0]


async def test_every_tool_of_a_large_server_is_there() -> None:
    async with stdio("many_tools", "count=300") as client:
        assert len(await client.list_tools()) >= 300


async def test_who_changes_a_listed_schema_changes_a_copy() -> None:
    async with stdio("normal") as client:
        (first, *_) = await client.list_tools()
        first.inputSchema["properties"].clear()
        (again, *_) = await client.list_tools()
        assert again.inputSchema["properties"]
        assert (await client.get_callable_function("echo")).inputSchema["properties"]


async def test_a_stateful_client_keeps_its_session_until_it_is_reset() -> None:
    async with stdio("normal", "tools=count") as client:
        assert [texts(await call(client, "count")) for _ in range(3)] == ["1", "2", "3"]
        await client.reset_session()
        assert texts(await call(client, "count")) == "1"


async def test_a_stateful_client_is_never_too_old() -> None:
    """Sessions of a bridge end when they have rested for `idle_timeout`; this one only when it is closed."""
    client = stdio("normal")
    assert client._config.idle_timeout > 365 * 86_400
    async with stdio("normal", "tools=count", idle_timeout=0.2) as impatient:
        assert texts(await call(impatient, "count")) == "1"
        await asyncio.sleep(1)
        assert texts(await call(impatient, "count")) == "1"  # so it is that value which keeps it


@pytest.mark.process
@pytest.mark.parametrize(("transport", "path"), [("streamable_http", "/mcp"), ("sse", "/sse")])
async def test_a_stateful_http_client_opens_one_session(transport: Any, path: str, tmp_path: Path) -> None:
    with remote(tmp_path) as server:
        client = HttpStatefulClient(name="web", transport=transport, url=server.origin + path)
        await client.connect()
        for word in ("a", "b", "c"):
            assert texts(await call(client, "echo", text=word)) == word
        await client.close()
        assert len(server.messages("initialize")) == 1
        assert len(server.messages("tools/list")) == 1


@pytest.mark.process
@pytest.mark.parametrize(("transport", "path"), [("streamable_http", "/mcp"), ("sse", "/sse")])
async def test_a_stateless_client_opens_one_session_per_call(transport: Any, path: str, tmp_path: Path) -> None:
    with remote(tmp_path) as server:
        client = HttpStatelessClient(name="web", transport=transport, url=server.origin + path)
        assert [tool.name for tool in await client.list_tools()] == ["echo", "pid"]
        await client.list_tools()
        listed = len(server.messages("initialize"))
        for word in ("a", "b", "c"):
            assert texts(await call(client, "echo", text=word)) == word
        assert len(server.messages("initialize")) == listed + 3
        assert len(server.messages("tools/list")) == 1
        await client.close()
        assert texts(await call(client, "echo", text="again")) == "again"  # it opens by itself
        await client.close()


@pytest.mark.process
async def test_headers_are_sent_and_never_told(tmp_path: Path) -> None:
    with remote(tmp_path, "normal", "auth=abcdef123456") as server:
        url = f"{server.origin}/mcp"
        good = HttpStatelessClient("web", url=url, headers={"Authorization": "Bearer abcdef123456"})
        assert texts(await call(good, "echo", text="in")) == "in"
        await good.close()
        bad = HttpStatelessClient("web", url=url, headers={"Authorization": "Bearer wrong-secret"})
        with pytest.raises(ServerUnavailable, match=r"'web'.*401") as caught:
            await bad.list_tools()
        assert "wrong-secret" not in str(caught.value)


async def test_a_missing_function_names_the_near_ones() -> None:
    async with stdio("normal") as client:
        with pytest.raises(ValueError, match="'odd' has no tool 'eco'; near: echo"):
            await client.get_callable_function("eco")
        with pytest.raises(ValueError, match="'odd' has no tool '天气'; near: echo, pid"):
            await client.get_callable_function("天气")
    async with stdio("empty_tools") as empty:
        with pytest.raises(ValueError, match="it has none"):
            await empty.get_callable_function("echo")


async def test_a_function_that_has_just_come_is_found() -> None:
    async with stdio("list_changed") as client:
        await client.list_tools()
        await call(client, "grow")
        assert (await client.get_callable_function("grown1")).name == "grown1"


async def test_an_execution_timeout_ends_the_call_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with stdio("sleep", f"log={log}") as client:
        function = await client.get_callable_function(func_name="sleep", execution_timeout=0.3)
        started = time.monotonic()
        with pytest.raises(CallTimeout, match=r"'odd'.*0.3 s"):
            await function(seconds=60)
        assert 0.3 <= time.monotonic() - started < GENEROUS
        assert texts(await call(client, "echo", text="x")) == "x"
        cancelled = '"notifications/cancelled"'
        await until(lambda: cancelled in log.read_text(encoding="utf-8"))
        assert log.read_text(encoding="utf-8").count(cancelled) == 1


def test_options_are_keys_of_a_configuration_and_wrong_ones_are_told() -> None:
    assert stdio("normal", encoding="utf-8", encoding_error_handler="replace", call_timeout=5)
    with pytest.raises(TypeError, match=r"'odd'.*unknown key 'call_timeot', did you mean 'call_timeout'"):
        stdio("normal", call_timeot=5)
    with pytest.raises(ConfigError, match=r"'web'.*transport"):
        HttpStatelessClient("web", "carrier pigeon", "https://example.invalid/mcp")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"'web'.*url"):
        HttpStatelessClient("web")
    with pytest.raises(ConfigError, match=r"args.*must be a list"):
        StdioStatefulClient("odd", "python", "server.py")


async def test_an_argument_that_python_keeps_for_itself_gets_through() -> None:
    async with stdio("reserved_params") as client:
        (function,) = [tool for tool in await client.list_tools() if tool.name == "param_names"]
        assert "self_" in function.inputSchema["properties"]
        answer = json.loads(texts(await function(self_="me")))
        assert "me" in json.dumps(answer)
        assert "self_" not in json.dumps(answer)


def test_an_agentscope_that_cannot_be_imported_costs_only_its_own_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "agentscope"]:
        monkeypatch.delitem(sys.modules, name)
    package = tmp_path / "agentscope"
    package.mkdir()
    (package / "__init__.py").write_text("import a_requirement_that_is_not_there")
    monkeypatch.syspath_prepend(tmp_path)
    assert agentscope.tool_function_class.__wrapped__() is MCPToolFunction
    assert "a_requirement_that_is_not_there" in caplog.text
