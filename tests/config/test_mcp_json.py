"""The `mcpServers` files of other programs, read as they are."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge.config import reading
from mcp_bridge.config.bridge_config import load_config
from mcp_bridge.config.mcp_json import server_tables
from mcp_bridge.config.server_config import ServerConfig
from mcp_bridge.errors import ConfigError
from tests.support.foreign_files import ENVIRON, FOREIGN_FILES, put


def read(tmp_path: Path, servers: Any, **environ: str) -> dict[str, ServerConfig]:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps(servers), encoding="utf-8")
    return {server.name: server for server in load_config(file, environ=environ).servers}


@pytest.mark.parametrize("program", FOREIGN_FILES)
def test_the_file_of_each_program_means_the_servers_that_the_program_would_run(program: str, tmp_path: Path) -> None:
    foreign = FOREIGN_FILES[program]
    file = put(tmp_path, foreign)
    config = load_config(file, environ=ENVIRON)
    found = {server.name: server for server in config.servers}
    assert {name for name, server in found.items() if not server.enabled} == foreign.off
    assert set(found) == set(foreign.servers) | foreign.off
    assert [server.error for server in config.servers if server.error] == []
    assert config.warnings == ()
    places = {
        "{workspace}": str(tmp_path / "project"),
        "{folder}": str(tmp_path),
        "{home}": os.path.expanduser("~"),
        "{sep}": os.sep,
    }

    def placed(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(placed, value))
        if isinstance(value, str):
            for mark, folder in places.items():
                value = value.replace(mark, folder)
        return value

    for name, expected in foreign.servers.items():
        seen = {key: getattr(found[name], key) for key in expected}
        assert seen == {key: placed(value) for key, value in expected.items()}, name


def test_tools_switched_off_elsewhere_stay_off(tmp_path: Path) -> None:
    entry = {"command": "x", "disabledTools": ["delete", "odd[1]*"]}
    found = read(tmp_path, {"mcpServers": {"a": entry, "b": {"command": "x", "tools": ["read"]}}})
    assert found["a"].tools.deny == ("delete", "odd[[]1][*]")
    assert found["b"].tools.allow == ("read",)


def test_an_imported_file_is_read_like_any_other_and_mistakes_are_placed_in_it(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "mcp.json").write_text(
        '// mine\n{"servers": {\n  "a": {"command": "x", "cwd": "here"},\n  "b": {"command": 5},\n}}'
    )
    config = tmp_path / "config.toml"
    config.write_text('[mcp]\nimport = ["sub/mcp.json"]\n')
    found = {server.name: server for server in load_config(config).servers}
    assert found["a"].cwd == str(tmp_path / "sub" / "here")
    assert found["b"].error == "mcp.json:4: command: must be a string, not a number"


@pytest.mark.parametrize(
    ("placeholder", "variable"),
    [
        ("${env:NOT_SET}", "NOT_SET"),
        ("${input:api-key}", "INPUT_API_KEY"),
        ("${command:pick.it}", "COMMAND_PICK_IT"),
        ("${config:a.b}", "CONFIG_A_B"),
        ("${workspaceFolder}", "workspaceFolder"),
        ("${workspaceFolder:api}", "WORKSPACEFOLDER_API"),
        ("${file:/run/secret}", "FILE__RUN_SECRET"),
        ("${env:ProgramFiles(x86)}", "ENV_PROGRAMFILES_X86_"),
    ],
)
def test_a_placeholder_without_a_value_fails_that_one_server_and_says_what_to_set(
    placeholder: str, variable: str, tmp_path: Path
) -> None:
    servers = {"servers": {"a": {"command": "x", "args": [placeholder]}, "good": {"command": "x"}}}
    found = read(tmp_path, servers)
    assert f"args: environment variable {variable} is not set; set it where the bot is started" in str(found["a"].error)
    assert found["good"].error is None
    assert read(tmp_path, servers, **{variable: "given"})["a"].args == ("given",)


def test_the_default_of_a_question_is_taken_where_it_can_be_written(tmp_path: Path) -> None:
    inputs = [{"id": "a", "default": "x y"}, {"id": "b", "default": "{x}"}, {"id": "c"}, "odd"]
    entries = {one: {"command": f"${{input:{one}}}"} for one in "abc"}
    found = read(tmp_path, {"inputs": inputs, "servers": entries})
    assert found["a"].command == "x y"
    assert "INPUT_B is not set" in str(found["b"].error)
    assert "INPUT_C is not set" in str(found["c"].error)


def test_the_file_for_all_projects_belongs_to_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    (tmp_path / ".cursor").mkdir()
    found = read(tmp_path / ".cursor", {"mcpServers": {"a": {"command": "${userHome}/x"}}})
    assert (found["a"].cwd, found["a"].command) == (str(tmp_path / ".cursor"), f"{tmp_path}/x")


def test_dollar_signs_that_begin_no_variable_stay(tmp_path: Path) -> None:
    words = ["5$", "${}", "${var:0:3}", "$HOME", "${a b}", "${MODE:-d}"]
    assert read(tmp_path, {"mcpServers": {"a": {"command": "x", "args": words}}})["a"].args == (*words[:-1], "d")


@pytest.mark.parametrize(
    ("flags", "enabled"),
    [
        ({}, True),
        ({"disabled": False}, True),
        ({"disabled": True}, False),
        ({"isActive": False}, False),
        ({"active": False}, False),
        ({"enabled": False}, False),
        ({"enabled": True, "disabled": True}, False),
        ({"disabled": None}, True),
    ],
)
def test_every_word_for_a_switch_is_understood(flags: dict[str, Any], enabled: bool, tmp_path: Path) -> None:
    server = read(tmp_path, {"mcpServers": {"a": {"command": "x", **flags}}})["a"]
    assert (server.enabled, server.error) == (enabled, None)


def test_a_switch_that_is_none_is_told_instead_of_starting_the_server(tmp_path: Path) -> None:
    server = read(tmp_path, {"mcpServers": {"a": {"command": "x", "isActive": "no"}}})["a"]
    assert "must be true or false, not a string" in str(server.error)


@pytest.mark.parametrize("word", ["streamableHttp", "streamable-http", "streamable_http", "StreamableHTTP", "http"])
@pytest.mark.parametrize("key", ["type", "transport", "transportType"])
def test_every_word_for_a_transport_is_understood(key: str, word: str, tmp_path: Path) -> None:
    entry = {key: word, "url": "https://example.com/mcp"}
    assert read(tmp_path, {"mcpServers": {"a": entry}})["a"].transport == "http"


@pytest.mark.parametrize(
    "servers",
    [
        {"mcp": {"servers": {"a": {"command": "x"}}}},  # VS Code's settings.json
        {"mcpServers": {}, "servers": {"a": {"command": "x"}}},
        {"mcpServers": [{"name": "a", "command": "x"}]},
        [{"name": "a", "command": "x"}],
        {"mcpServers": {"k1": {"name": "a", "isActive": True, "command": "x"}}},
    ],
)
def test_servers_are_found_wherever_programs_keep_them(servers: Any, tmp_path: Path) -> None:
    assert read(tmp_path, servers)["a"].command == "x"


def test_two_servers_of_one_name_are_both_kept(tmp_path: Path) -> None:
    entry = {"name": "same", "isActive": True, "command": "x"}
    assert set(read(tmp_path, {"mcpServers": {"k1": entry, "k2": entry}})) == {"same", "k2"}
    file = tmp_path / "twice.json"
    file.write_text('{"mcpServers": {"a": {"command": "first"}, "a": {"command": "last"}}}')
    assert [server.command for server in load_config(file).servers] == ["last"]


@pytest.mark.parametrize(
    "text", ["", "5", "null", "[]x", '"x"', "{}", '{"mcpServers": 5}', '{"mcpServers": null}', "{/*"]
)
def test_a_file_that_holds_no_mcp_servers_is_a_config_error(text: str, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"mcp\.json"):
        load_config(file)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
        max_leaves=12,
    )
)
def test_no_entry_stops_the_others(entry: Any) -> None:
    tables = server_tables({"mcpServers": {"odd": entry, "good": {"command": "x"}}}, Path("mcp.json"))
    assert tables["good"] == {"command": "x"}
    assert len(tables) == 2


# --- JSON with comments


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab"\\/*,]} \n', max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('a"/*,', max_size=6), inner, max_size=4),
    max_leaves=10,
)


@given(values, st.sampled_from(['// "a", }', '/* { " */', "/**/", " "]))
def test_comments_and_trailing_commas_change_nothing(value: Any, comment: str) -> None:
    lines = json.dumps(value, indent=1).splitlines()
    for index, following in enumerate(lines[1:]):
        if following.strip()[0] in "]}":
            lines[index] += ","
    text = f"{comment}\n" + "\n".join(f"{line} {comment}" for line in lines)
    assert reading.loads(text) == value


def test_a_mistake_between_comments_is_told_with_its_true_place() -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        reading.loads('// one\n{ /* two\nthree */ "a" 5,\n}')
    assert (caught.value.lineno, caught.value.colno) == (3, 14)


@pytest.mark.parametrize("piece", ["/* ", '"\\', ', "\n', "//"])
def test_a_file_that_is_never_completed_is_refused_without_a_long_search(piece: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        reading.loads("[" + piece * 500_000)
