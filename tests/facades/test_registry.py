"""A host's own registry filled with MCP tools of real servers, as a synchronous agent uses it."""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_bridge import MCPManager, ToolDef, ToolExecutionError, ToolNotFound
from tests.support.host_registry import Registry, odd, write
from tests.support.processes import children
from tests.support.waiting import GENEROUS, until

pytestmark = pytest.mark.usefixtures("no_children_left", "home")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., tuple[MCPManager, Registry]]]:
    """Start a manager with these servers from no loop at all; end it from another one."""
    started: list[MCPManager] = []

    def begin(registry: Registry | None = None, **servers: Any) -> tuple[MCPManager, Registry]:
        write(tmp_path, servers)
        manager, registry = MCPManager(str(tmp_path)), registry or Registry()
        started.append(manager)
        asyncio.run(manager.initialize(registry))
        return manager, registry

    yield begin
    for manager in started:
        asyncio.run(manager.shutdown())


Start = Callable[..., tuple[MCPManager, Registry]]


GOOD = odd("normal")
KINDS: Mapping[str, Any] = {
    "good": GOOD,
    "exits": odd("exit_at_once"),
    "missing": {"command": "no-such-program-at-all"},
    "unlisted": odd("list_error"),
    "invalid": {"transport": "stdio"},
    "refused": {"url": "http://127.0.0.1:9/mcp", "transport": "sse"},
}


@settings(max_examples=6)
@given(st.lists(st.sampled_from(sorted(KINDS)), min_size=2, max_size=4))
def test_property_6_servers_that_fail_do_not_harm_others(kinds: list[str]) -> None:
    """Exactly the servers that work are connected, and all of their tools can be called."""
    good = [f"s{index}" for index, kind in enumerate(kinds) if kind == "good"]
    registry = Registry()
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), {f"s{index}": KINDS[kind] for index, kind in enumerate(kinds)})
        manager = MCPManager(folder)
        asyncio.run(manager.initialize(registry))
        try:
            assert manager.connected_servers == good
            assert set(registry.tools) == {f"mcp_{name}_{tool}" for name in good for tool in ("echo", "pid")}
            assert all(registry.call(f"mcp_{name}_echo", text=name) == name for name in good)
            for row, kind in zip(manager.get_server_info(), kinds, strict=True):
                assert (row["status"] == "ready", bool(row["last_error"])) == ((True, False), (False, True))[
                    kind != "good"
                ]
        finally:
            asyncio.run(manager.shutdown())


def test_info_says_what_each_server_is_and_gives(start: Start) -> None:
    manager, _ = start(a=GOOD, b=odd("normal", disabled=True))
    assert manager.is_initialized
    a, b = manager.get_server_info()
    assert a == {
        "name": "a",
        "transport": "stdio",
        "status": "ready",
        "tool_count": 2,
        "tools": ["echo", "pid"],
        "last_error": None,
    }
    assert (b["name"], b["status"], b["tools"]) == ("b", "disabled", [])


def test_without_any_configuration_there_is_nothing_to_start(tmp_path: Path) -> None:
    manager, threads = MCPManager(tmp_path), threading.active_count()
    asyncio.run(manager.initialize(Registry()))
    assert manager.is_initialized
    assert (manager.connected_servers, manager.get_server_info()) == ([], [])
    assert threading.active_count() == threads
    asyncio.run(manager.shutdown())
    assert not manager.is_initialized


def test_sixteen_threads_at_once_get_their_own_answers(start: Start) -> None:
    _, registry = start(s=GOOD)
    gate = threading.Barrier(16)

    def call(number: int) -> str:
        gate.wait(GENEROUS)
        return registry.call("mcp_s_echo", text=f"answer {number}")

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(call, range(16))) == [f"answer {number}" for number in range(16)]


def test_a_function_works_inside_a_running_loop(start: Start) -> None:
    _, registry = start(s=GOOD)

    async def turn() -> list[str]:
        direct = registry.call("mcp_s_echo", text="blocking")
        return [direct, await asyncio.to_thread(registry.call, "mcp_s_echo", text="aside")]

    assert asyncio.run(turn()) == ["blocking", "aside"]


async def test_a_function_works_in_the_loop_that_also_started_and_ends_it(tmp_path: Path) -> None:
    write(tmp_path, {"s": GOOD})
    manager, registry = MCPManager(tmp_path), Registry()
    await manager.initialize(registry)
    assert registry.call("mcp_s_echo", text="x") == "x"
    await manager.shutdown()


def test_arguments_may_be_called_anything(start: Start) -> None:
    """Names that are words of Python, or those of our own code, reach the server."""
    _, registry = start(s=odd("reserved_params"))
    words = ("self", "cls", "name", "class", "kwargs", "arguments", "tool", "None", "城市", "with space")
    given = {word: f"value of {word}" for word in words}
    tool = registry.tools["mcp_s_param_names"]
    assert tool is not None
    assert list(signature(tool.func).parameters) == ["kwargs"]
    assert json.loads(registry.call("mcp_s_param_names", **given)) == given


def test_a_timeout_is_told_as_text_that_names_the_server(start: Start) -> None:
    _, registry = start(slowpoke=odd("sleep", timeout=1))
    text = registry.call("mcp_slowpoke_sleep", seconds=60)
    assert "slowpoke" in text
    assert "1 s" in text


@pytest.mark.parametrize(
    ("mode", "tool", "reason"),
    [("result_is_error", "is_error", "disk is full"), ("result_rpc_error", "rpc_error", "backend unavailable")],
)
def test_a_tools_own_error_is_raised(start: Start, mode: str, tool: str, reason: str) -> None:
    _, registry = start(s=odd(mode))
    with pytest.raises(ToolExecutionError, match=reason) as caught:
        registry.call(f"mcp_s_{tool}")
    assert caught.value.server == "s"
    assert "'s'" in str(caught.value)


def test_a_server_that_dies_in_a_call_is_told_as_text_and_serves_the_next_call(start: Start) -> None:
    _, registry = start(s=odd("exit_mid_call"))
    assert "MCP server 's'" in registry.call("mcp_s_die")
    assert registry.call("mcp_s_echo", text="x") == "x"


def test_a_result_is_no_longer_than_the_registry_takes(start: Start) -> None:
    _, registry = start(a=odd("result_huge"), b=odd("result_huge", max_result_chars=700))
    for name, limit in (("mcp_a_huge", 5000), ("mcp_b_huge", 700)):
        tool = registry.tools[name]
        assert tool is not None
        assert tool.max_result_chars == limit
        assert limit / 2 < len(tool.func()) <= limit


def test_a_name_that_the_registry_has_is_skipped_with_a_warning(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    manager, registry = start(Registry("builtin", "mcp_s_echo"), s=GOOD)
    assert registry.tools["mcp_s_echo"] is None
    assert set(registry.tools) == {"builtin", "mcp_s_echo", "mcp_s_pid"}
    assert [one.getMessage() for one in caplog.records if "'mcp_s_echo'" in one.getMessage()] == [
        "tool 'mcp_s_echo' of MCP server 's' skipped: the name is taken"
    ]
    assert manager.get_server_info()[0]["tools"] == ["pid"]
    with pytest.raises(ToolNotFound):
        manager.origin("mcp_s_echo")


def test_initializing_again_starts_nothing_and_warns_of_nothing(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    manager, registry = start(s=GOOD)
    before = children()
    other = Registry()
    for one in (registry, other):
        asyncio.run(manager.initialize(one))
    assert other.call("mcp_s_echo", text="x") == "x"
    assert set(other.tools) == set(registry.tools)
    assert len(children()) <= len(before) + 1  # the spare that replaces the one just used
    assert "skipped" not in caplog.text


async def test_a_server_that_comes_up_later_is_registered_then(tmp_path: Path) -> None:
    write(tmp_path, {"s": odd("flaky_start", "fails=1", f"state={tmp_path / 'starts'}")})
    manager, registry = MCPManager(tmp_path), Registry()
    await manager.initialize(registry)
    assert registry.tools == {}
    await until(lambda: "mcp_s_echo" in registry.tools)
    assert registry.call("mcp_s_echo", text="late") == "late"
    await manager.shutdown()


def test_shutdown_is_safe_at_any_time_and_initializing_after_it_revives_the_tools(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"s": GOOD})
    manager, registry = MCPManager(tmp_path), Registry()
    asyncio.run(manager.shutdown())
    asyncio.run(manager.initialize(registry))
    for _ in range(2):
        asyncio.run(manager.shutdown())
        assert (manager.is_initialized, manager.connected_servers) == (False, [])
    text = registry.call("mcp_s_echo", text="x")
    assert "'s'" in text
    assert "shut down" in text
    asyncio.run(manager.initialize(registry))
    assert registry.call("mcp_s_echo", text="again") == "again"
    asyncio.run(manager.shutdown())


async def test_two_shutdowns_at_once_both_return_after_the_end(tmp_path: Path) -> None:
    before = children()
    write(tmp_path, {"s": GOOD})
    manager = MCPManager(tmp_path)
    await manager.initialize(Registry())

    async def end() -> set[int]:
        await manager.shutdown()
        return children() - before

    assert list(await asyncio.gather(end(), end())) == [set(), set()]


async def test_shutdown_during_the_start_leaves_nothing_initialized(tmp_path: Path) -> None:
    write(tmp_path, {"s": odd("hang_init")})
    manager = MCPManager(tmp_path)
    starting = asyncio.create_task(manager.initialize(Registry()))
    await asyncio.sleep(0.5)
    await manager.shutdown()
    await starting
    assert not manager.is_initialized


async def test_a_start_that_is_cancelled_is_undone(tmp_path: Path) -> None:
    write(tmp_path, {"s": odd("hang_init")})
    manager = MCPManager(tmp_path)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(manager.initialize(Registry()), 0.5)
    assert not manager.is_initialized
    await manager.shutdown()


async def test_a_registry_that_refuses_is_heard_and_nothing_stays_behind(tmp_path: Path) -> None:
    class Full(Registry):
        def register_tools(self, tools: list[ToolDef]) -> None:
            raise MemoryError("registry is full")

    write(tmp_path, {"s": GOOD})
    manager = MCPManager(tmp_path)
    with pytest.raises(MemoryError, match="full"):
        await manager.initialize(Full())
    assert not manager.is_initialized
    await manager.shutdown()
