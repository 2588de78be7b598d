"""The mcp.json of a registry's manager: which file is read, and what of it."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge import MCPConfigLoader, MCPServerConfig
from tests.support.config_words import names, words
from tests.support.host_registry import odd, write

pytestmark = pytest.mark.usefixtures("home")


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
invalid_entries: st.SearchStrategy[Any] = st.sampled_from(
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
