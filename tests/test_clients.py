"""Clients in the style of agentscope, without agentscope: what they list, give, raise and leave behind."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp.types
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from mcp_bridge.blocks import readable_content
from mcp_bridge.hosts import agentscope
from mcp_bridge.result import convert

from .cases.remote import remote
from .conftest import GENEROUS, ODD_SERVER, children, until
from .servers.shapes import BODIES, PNG, WAV

pytestmark = pytest.mark.usefixtures("no_children_left")


@pytest.fixture(autouse=True)
def _no_agentscope(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is installed or not: what it changes is tested in `integrations`."""
    monkeypatch.setattr("mcp_bridge.clients.tool_function_class", lambda: MCPToolFunction)


@pytest.fixture
def before() -> Iterator[set[int]]:
    """What processes there are before the test."""
    return children()


def stdio(mode: str, *options: str, name: str = "odd", **more: Any) -> StdioStatefulClient:
    return StdioStatefulClient(name, sys.executable, [str(ODD_SERVER), mode, *options], **more)


async def call(client: Any, tool: str, wrap: bool = True, **arguments: Any) -> Any:
    function = await client.get_callable_function(func_name=tool, wrap_tool_result=wrap)
    return await function(**arguments)


def texts(response: list[dict[str, Any]]) -> str:
    return "\n".join(block["text"] for block in response if block["type"] == "text")


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


async def test_clients_close_in_any_order_and_from_any_task() -> None:
    clients = [stdio("normal", name=f"odd{number}") for number in range(3)]
    await asyncio.gather(*(asyncio.create_task(client.connect()) for client in clients))
    assert [texts(await call(client, "echo", text="x")) for client in clients] == ["x"] * 3
    for number, client in enumerate(clients):  # first in, first out
        await asyncio.create_task(client.close())
        assert [one.is_connected for one in clients] == [False] * (number + 1) + [True] * (2 - number)
        assert [texts(await call(one, "echo", text="y")) for one in clients[number + 1 :]] == ["y"] * (2 - number)
    await clients[0].close()  # a second time does no harm


def test_a_client_outlives_the_loop_that_connected_it() -> None:
    client = stdio("normal")
    asyncio.run(client.connect())
    function = asyncio.run(client.get_callable_function("echo"))
    assert texts(asyncio.run(function(text="x"))) == "x"
    asyncio.run(client.close())


async def test_closing_ends_running_calls_at_once() -> None:
    client = stdio("sleep")
    await client.connect()
    running = asyncio.create_task(call(client, "sleep", seconds=60))
    await asyncio.sleep(0.5)
    started = time.monotonic()
    await client.close()
    with pytest.raises(ServerUnavailable, match=r"'odd'.*closed"):
        await running
    assert time.monotonic() - started < GENEROUS


async def test_a_client_that_nobody_has_any_more_ends_its_server(before: set[int]) -> None:
    client = stdio("normal")
    await client.connect()
    assert children() - before
    del client
    gc.collect()
    await until(lambda: not children() - before)


async def test_giving_up_connecting_leaves_nothing_behind(before: set[int]) -> None:
    client = stdio("hang_init")
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(client.connect(), 0.5)
    assert not client.is_connected
    await until(lambda: not children() - before)


async def test_who_gives_up_connecting_does_not_take_the_server_from_others() -> None:
    client = stdio("slow_init", "delay=1")
    first, second = (asyncio.create_task(client.connect()) for _ in range(2))
    await asyncio.sleep(0.3)
    second.cancel()
    await first
    assert texts(await call(client, "echo", text="x")) == "x"
    await client.close()


async def test_closing_while_connecting_ends_both(before: set[int]) -> None:
    client = stdio("hang_init")
    connecting = asyncio.create_task(client.connect())
    await asyncio.sleep(0.5)
    await client.close()
    with pytest.raises(ServerUnavailable, match=r"'odd'.*closed"):
        await connecting
    await until(lambda: not children() - before)


async def test_a_server_that_does_not_start_says_why_and_may_be_tried_again(tmp_path: Path) -> None:
    dead = stdio("exit_at_once")
    with pytest.raises(ServerUnavailable, match=r"'odd'.*DATABASE_URL is not set"):
        await dead.connect()
    assert not dead.is_connected
    flaky = stdio("flaky_start", "fails=1", f"state={tmp_path / 'starts'}")
    with pytest.raises(ServerUnavailable, match="'odd'"):
        await flaky.connect()
    async with flaky:
        assert texts(await call(flaky, "echo", text="up")) == "up"


async def test_a_stateless_client_tries_anew_each_time(tmp_path: Path) -> None:
    with remote(tmp_path) as server:
        await server.steer("set?http=500")
        client = HttpStatelessClient("web", url=f"{server.origin}/mcp")
        answers = await asyncio.gather(client.list_tools(), client.list_tools(), return_exceptions=True)
        assert [type(answer) for answer in answers] == [ServerUnavailable] * 2
        assert all("'web'" in str(answer) and "500" in str(answer) for answer in answers)
        await server.steer("set?http=")
        assert await client.list_tools()
        await client.close()


async def test_using_a_client_at_the_wrong_time_says_what_to_do() -> None:
    client = stdio("normal")
    for early in (client.list_tools(), client.get_callable_function("echo")):
        with pytest.raises(RuntimeError, match=r"'odd' is not connected; await its connect\(\)"):
            await early
    await client.close()
    await client.connect()
    with pytest.raises(RuntimeError, match=r"already connected; call close\(\)"):
        await client.connect()
    function = await client.get_callable_function("echo")
    await client.close()
    with pytest.raises(RuntimeError, match="not connected"):
        await function(text="x")
    await client.connect()
    assert texts(await function(text="back")) == "back"
    await client.close()


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


async def test_an_unknown_kind_of_block_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with stdio("result_unknown_type") as client:
        with caplog.at_level(logging.WARNING, logger="mcp_bridge.blocks"):
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
