"""A host's own registry filled with MCP tools, as a synchronous agent uses it."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_bridge import MCPConfigLoader, MCPManager, MCPServerConfig, ToolDef, ToolExecutionError, ToolNotFound
from mcp_bridge import registry as registry_module
from mcp_bridge import tool_def as tool_def_module
from mcp_bridge.catalog import RemoteTool, Tool, present
from mcp_bridge.naming import assign_names, plain_name
from mcp_bridge.result import convert
from mcp_bridge.server_config import ServerConfig
from mcp_bridge.tool_def import make_tool_def

from .conftest import GENEROUS, ODD_SERVER, children, until

pytestmark = pytest.mark.usefixtures("no_children_left")


class Registry:
    """A host's registry: binds arguments before a call, refuses a name that it has."""

    def __init__(self, *builtin: str) -> None:
        self.tools: dict[str, ToolDef | None] = dict.fromkeys(builtin)

    def get_tool_names(self) -> list[str]:
        return list(self.tools)

    def register_tools(self, tools: list[ToolDef]) -> None:
        for tool in tools:
            if tool.name in self.tools:
                raise ValueError(f"{tool.name} is there already")
            self.tools[tool.name] = tool

    def call(self, name: str, /, **arguments: Any) -> str:
        tool = self.tools[name]
        assert tool is not None
        signature(tool.func).bind(**arguments)
        return tool.func(**arguments)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the user's own mcp.json out of the tests."""
    folder = tmp_path / "home"
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.delenv("MCP_BRIDGE_CONFIG", raising=False)
    return folder


def odd(mode: str, *options: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(ODD_SERVER), mode, *options], **more}


def write(folder: Path, servers: Mapping[str, Any], name: str = "mcp.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return file


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

# --- the configuration ---


def test_the_file_named_by_the_environment_wins_then_the_argument_the_workspace_the_home(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def found() -> list[str]:
        return [one.name for one in MCPConfigLoader.load(str(tmp_path / "arg.json"), str(tmp_path / "work"))]

    assert MCPConfigLoader.load(workspace_root=str(tmp_path / "work")) == []
    for place, name in ((home / ".mcp-bridge", "user"), (tmp_path / "work", "work")):
        write(place, {name: odd("normal")})
        assert found() == [name]
    write(tmp_path, {"arg": odd("normal")}, "arg.json")
    assert found() == ["arg"]
    monkeypatch.setenv("MCP_BRIDGE_CONFIG", str(tmp_path / "env.conf"))
    caplog.clear()
    assert found() == ["arg"]
    assert "env.conf" in caplog.text
    write(tmp_path, {"env": odd("normal")}, "env.conf")
    assert found() == ["env"]


words = st.text(st.characters(codec="utf-8", exclude_characters="\0$~"), max_size=12)
names = words.filter(str.strip)
programs = st.text("abcXYZ019_/.-", min_size=1, max_size=12)
addresses = st.builds("http{}://{}".format, st.sampled_from(["", "s"]), programs)
times = {"timeout": st.integers(1, 10_000)}
stdio_entries = st.fixed_dictionaries(
    {"command": programs},
    optional={"transport": st.just("stdio"), "args": st.lists(words), "env": st.dictionaries(names, words), **times},
)
remote_entries = st.fixed_dictionaries(
    {"url": addresses},
    optional={
        "transport": st.sampled_from(["sse", "http", "streamable_http", "streamableHttp"]),
        "headers": st.dictionaries(programs, programs),
        **times,
    },
)
valid_entries = stdio_entries | remote_entries
invalid_entries = st.sampled_from(
    [
        *({}, {"transport": "stdio"}, {"transport": "sse"}, {"transport": "stdio", "url": "http://x"}),
        *({"transport": "sse", "command": "x"}, {"transport": "carrier pigeon", "command": "x"}, {"command": ""}),
        *({"command": "x", "timeout": 0}, {"command": "x", "timeout": "soon"}, {"command": "x", "args": "-y"}),
        *({"command": "x", "env": ["A=B"]}, {"command": 5}, {"command": "x", "env": {"A": "${NO_SUCH_THING}"}}),
        *({"command": "x", "url": "http://x"}, {"url": "ftp://x"}, "npx", None, [], 7),
    ]
)


def load(servers: Mapping[str, Any]) -> list[MCPServerConfig]:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), servers)
        return MCPConfigLoader.load(workspace_root=folder)


@given(st.dictionaries(names, valid_entries, max_size=5))
def test_property_1_what_is_written_is_what_is_read(servers: dict[str, dict[str, Any]]) -> None:
    """Every field of every server arrives as the owner wrote it, in the same order."""
    loaded = load(servers)
    assert [one.name for one in loaded] == list(servers)
    for one in loaded:
        entry = servers[one.name]
        assert one.timeout == entry.get("timeout", 30)
        assert one.transport == entry.get("transport", "stdio" if "command" in entry else "auto")
        for key in ("command", "args", "env", "url", "headers"):
            assert getattr(one, key) == entry.get(key), key


@given(st.dictionaries(names, st.tuples(st.booleans(), valid_entries, invalid_entries), max_size=6))
def test_property_2_an_invalid_entry_costs_only_itself(mixed: dict[str, tuple[bool, Any, Any]]) -> None:
    """Whatever stands between them, exactly the valid entries are loaded."""
    servers = {name: valid if good else invalid for name, (good, valid, invalid) in mixed.items()}
    assert [one.name for one in load(servers)] == [name for name, (good, _, _) in mixed.items() if good]


def test_an_invalid_entry_is_told_and_a_disabled_one_is_left_out_silently(caplog: pytest.LogCaptureFixture) -> None:
    loaded = load({"bad": {"transport": "stdio"}, "off": odd("normal", disabled=True), "good": odd("normal")})
    assert [one.name for one in loaded] == ["good"]
    warnings = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "'bad'" in warnings[0]
    assert "command" in warnings[0]


@pytest.mark.parametrize("text", ['{"mcpServers": {', "3", '{"other": {}}', "\x00"])
def test_an_unreadable_file_is_told_once_and_stops_nobody(
    text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "mcp.json").write_text(text, encoding="utf-8")
    assert MCPConfigLoader.load(workspace_root=tmp_path) == []
    assert [one.levelname for one in caplog.records] == ["ERROR"]
    assert "mcp.json" in caplog.text


def test_secrets_of_the_file_are_not_in_what_is_printed_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "hunter2hunter2")
    (one,) = load({"a": {"url": "https://x/?k=hunter2hunter2", "headers": {"Authorization": "${SOME_TOKEN}"}}})
    assert one.headers == {"Authorization": "hunter2hunter2"}
    assert "hunter2" not in repr(one)


def test_a_config_toml_can_be_named_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[mcp.servers.a]\ncommand = "x"\nargs = ["1"]\ncall_timeout = 7\n', encoding="utf-8")
    monkeypatch.setenv("MCP_BRIDGE_CONFIG", str(file))
    assert MCPConfigLoader.load() == [MCPServerConfig("a", "stdio", "x", ["1"], timeout=7)]


# --- conversion ---


class Answers:
    """Stands in for a bridge whose tools are known and that answers each call the same."""

    def __init__(self, tools: list[Tool], answer: object = None) -> None:
        self._tools, self._answer = tools, answer

    def start(self) -> None: ...
    def close_soon(self) -> None: ...
    def status(self) -> list[Any]:
        return []

    def wait_ready(self, seconds: float) -> bool:
        return True

    def join(self, seconds: float) -> bool:
        return True

    def tools(self) -> list[Tool]:
        return self._tools

    def submit(self, name: str, arguments: Mapping[str, Any]) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(convert(self._answer))
        return future


def shown(remotes: list[RemoteTool]) -> list[Tool]:
    return [tool for name, one in assign_names(remotes).items() if (tool := present(name, one)) is not None]


plain = st.text("abcdefgh XYZ0123._-", min_size=1, max_size=15).filter(str.strip)
identifiers = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,15}", fullmatch=True)
schemas = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(
            identifiers, st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "boolean"])}), max_size=4
        ),
    }
)


@given(identifiers | plain, identifiers, plain, schemas)
def test_property_3_a_definition_says_what_the_server_says(
    server: str, remote: str, description: str, schema: dict[str, Any]
) -> None:
    """Name, description and schema of the server's tool are those of the registered one."""
    (tool,) = shown([RemoteTool(server, remote, description, schema)])
    made = make_tool_def(tool, ServerConfig(server), lambda: None)
    if any(c.isalnum() for c in server):
        assert made.name == plain_name(server, remote)
    assert made.description.startswith(f"[MCP:{server.strip()}]")
    assert made.description.endswith(description.strip())
    assert made.input_schema == schema
    function = {"name": made.name, "description": made.description, "parameters": schema}
    assert made.to_openai_schema() == {"type": "function", "function": function}
    assert made.to_openai_schema("responses") == {"type": "function", **function}
    made.input_schema.clear()
    assert tool.input_schema == schema


@given(st.lists(st.tuples(names, names), min_size=1, max_size=8, unique=True))
def test_property_4_every_name_leads_back_to_its_server_and_tool(pairs: list[tuple[str, str]]) -> None:
    """Whatever servers and tools are called, also when their plain names are the same."""
    tools = shown([RemoteTool(server, tool) for server, tool in pairs])
    registry = Registry()
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry_module, "BridgeThread", lambda config, on_change: Answers(tools))
        write(Path(folder), {server: {"command": "x"} for server, _ in pairs})
        manager = MCPManager(folder)
        asyncio.run(manager.initialize(registry))
        assert sorted(map(manager.origin, registry.get_tool_names())) == sorted(pairs)


def test_a_name_that_was_never_registered_leads_nowhere() -> None:
    with pytest.raises(ToolNotFound, match="mcp_a_b"):
        MCPManager().origin("mcp_a_b")


blocks = st.one_of(
    identifiers.map(lambda text: {"type": "text", "text": text}),
    st.just({"type": "image", "data": "AAAA", "mimeType": "image/png"}),
    st.sampled_from([None, 5, {}, {"type": "text"}, {"type": "new"}]),
)


@given(st.lists(blocks, max_size=6))
def test_property_5_all_text_of_a_result_is_returned(content: list[Any]) -> None:
    """No text block of an answer is lost beside others, and the answer is never empty."""
    (tool,) = shown([RemoteTool("s", "t")])
    bridge: Any = Answers([tool], {"content": content})
    text = make_tool_def(tool, ServerConfig("s"), lambda: bridge).func()
    assert text.strip()
    assert all(one["text"] in text for one in content if isinstance(one, dict) and "text" in one)


def test_a_long_result_is_cut_to_what_the_definition_allows() -> None:
    tool = ToolDef("t", "d", {}, lambda: "", max_result_chars=100)
    assert tool.truncate_result("x" * 100) == "x" * 100
    cut = tool.truncate_result("a" + "x" * 200 + "z")
    assert (len(cut), cut[0], cut[-1]) == (100, "a", "z")
    assert ToolDef("t", "d", {}, lambda: "").max_result_chars == 5000
    assert ToolDef("t", "d", {}, lambda: "", 0).truncate_result("x" * 9999) == "x" * 9999


def test_a_bridge_that_never_answers_is_given_up_and_the_call_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    future: Future[Any] = Future()
    bridge: Any = SimpleNamespace(submit=lambda name, arguments: future)
    monkeypatch.setattr(tool_def_module, "_longest_call", lambda server: 0.05)
    (tool,) = shown([RemoteTool("s", "t")])
    text = make_tool_def(tool, ServerConfig("s"), lambda: bridge).func()
    assert "'s'" in text
    assert "in time" in text
    assert future.cancelled()


# --- real servers ---

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

    assert await asyncio.gather(end(), end()) == [set(), set()]


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
