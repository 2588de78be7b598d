"""The definition of a tool in a registry: what it says, returns and leads back to."""

from __future__ import annotations

import asyncio
import concurrent.futures
import tempfile
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge import MCPManager, ToolDef, ToolNotFound
from mcp_bridge.config.server_config import ServerConfig, ToolSettings
from mcp_bridge.facades import registry as registry_module
from mcp_bridge.facades import tool_def as tool_def_module
from mcp_bridge.facades.tool_def import make_tool_def
from mcp_bridge.tools.names import assign_names, plain_name
from mcp_bridge.tools.result import convert
from mcp_bridge.tools.tool import RemoteTool, Tool, present
from tests.support.config_words import names
from tests.support.host_registry import Registry, write

pytestmark = pytest.mark.usefixtures("home")


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
    monkeypatch.setattr(tool_def_module, "_longest_call", lambda server, tool: 0.05)
    (tool,) = shown([RemoteTool("s", "t")])
    text = make_tool_def(tool, ServerConfig("s"), lambda: bridge).func()
    assert "'s'" in text
    assert "in time" in text
    assert future.cancelled()


def test_a_call_that_the_owner_gives_half_an_hour_is_not_cut_off() -> None:
    """The registry gave it up after the server's own limits, not those of the tool."""
    server = ServerConfig("s", override={"slow": ToolSettings(call_timeout=1800)})
    limits: list[float] = []

    class Slow(Future[Any]):
        def result(self, timeout: float | None = None) -> Any:
            limits.append(timeout or 0)
            raise concurrent.futures.TimeoutError  # on Python 3.10 it is not the built-in one

    bridge: Any = SimpleNamespace(submit=lambda name, arguments: Slow())
    (tool,) = shown([RemoteTool("s", "slow")])
    make_tool_def(tool, server, lambda: bridge).func()
    assert limits[0] > server.call_limits("slow").total == 18_000
