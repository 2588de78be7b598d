"""The owner's file: what works, what is told, and that one mistake costs only itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge.config.bridge_config import BridgeConfig, load_config, parse_config
from mcp_bridge.config.server_config import ServerConfig
from mcp_bridge.errors import ConfigError
from tests.support.entries import Write


def load(file: Path, **environ: str) -> dict[str, ServerConfig]:
    return {server.name: server for server in load_config(file, environ=environ).servers}


def test_an_entry_with_everything_is_read_as_the_manual_says(write_config: Write) -> None:
    file = write_config(
        """
        [mcp.defaults]
        call_timeout = 20
        [mcp.servers.calc]
        command = "${PYTHON}"
        args = ["server.py", "--n", 5]
        env = {
          TOKEN = "${CALC_TOKEN}", MODE = "${MODE:-fast}",
          PORT = 8080, DEBUG = true, RATIO = 0.5,
        }
        tools = { deny = ["delete_*"] }
        chats = ["qq:123"]
        [mcp.servers.remote]
        url = "https://example.com/mcp"
        transport = "streamableHttp"
        headers = { Authorization = "Bearer ${TOKEN}" }
        """
    )
    found = load(file, CALC_TOKEN="tok-123456", TOKEN="tok-abcdef")
    calc, remote = found["calc"], found["remote"]
    assert (calc.command, calc.args, calc.cwd) == (
        sys.executable,
        ("server.py", "--n", "5"),
        str(file.parent),
    )
    assert calc.env == {
        "TOKEN": "tok-123456",
        "MODE": "fast",
        "PORT": "8080",
        "DEBUG": "true",
        "RATIO": "0.5",
    }
    assert (calc.call_timeout, calc.warm, calc.session) == (20.0, 1, "fresh")
    assert (calc.tools.allow, calc.tools.deny, calc.chats) == (("*",), ("delete_*",), ("qq:123",))
    assert (remote.transport, remote.headers["Authorization"]) == ("http", "Bearer tok-abcdef")
    assert calc.secrets == {"tok-123456"}
    assert remote.secrets == {"tok-abcdef", "Bearer tok-abcdef"}


def test_a_dollar_that_is_no_variable_stays_and_an_empty_variable_is_set(write_config: Write) -> None:
    file = write_config(
        '[mcp.servers.a]\ncommand = "x"\nenv = { P = "5$ each ${}", E = "${EMPTY}", D = "${EMPTY:-d}" }'
    )
    assert load(file, EMPTY="")["a"].env == {"P": "5$ each ${}", "E": "", "D": "d"}


def test_a_missing_variable_fails_its_server_and_names_field_and_line(write_config: Write) -> None:
    file = write_config(
        """
        [mcp.servers.h]
        url = "http://127.0.0.1:9/mcp"
        [mcp.servers.h.headers]
        Authorization = "Bearer ${NOPE_TOKEN}"
        [mcp.servers.good]
        command = "python3"
        """
    )
    found = load(file)
    assert found["good"].error is None
    error = found["h"].error or ""
    assert error.startswith("config.toml:5: headers.Authorization: environment variable NOPE_TOKEN is not set")
    assert "${NOPE_TOKEN}" not in error


def test_a_disabled_server_needs_no_variables(write_config: Write) -> None:
    found = load(write_config('[mcp.servers.a]\nenabled = false\ncommand = "${NOPE}"\nenv = { A = "${NOPE}" }'))
    assert (found["a"].enabled, found["a"].error) == (False, None)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('args = ["x"]', "needs command or url"),
        ('command = ""', "command: is empty"),
        ("command = 5", "command: must be a string, not a number"),
        ('command = "x"\nargs = "a b"', 'args: must be a list: write args = ["a", "b"]'),
        ('command = "x"\nurl = "http://a"', "url: has both command and url"),
        ('url = "ftp://a"', "url: must begin with http:// or https://"),
        ('url = "http://a"\ntransport = "carrier-pigeon"', "transport: must be one of stdio, sse, http"),
        ('transport = "sse"\ncommand = "x"', "needs url for transport 'sse'"),
        (
            'command = "x"\nenv = { LIST = [1, 2] }',
            "env.LIST: must be a string, a number or true/false, not a list",
        ),
        ('command = "x"\nenv = "A=1"', "env: must be a table"),
        ('command = "x"\ncall_timeout = 0', "call_timeout: must be a number of seconds above 0"),
        ('command = "x"\ncall_timeout = inf', "call_timeout: must be a number of seconds above 0"),
        ('command = "x"\ncall_timeout = "60"', "call_timeout: must be a number"),
        ('command = "x"\nwarm = true', "warm: must be a whole number"),
        ('command = "x"\nmax_sessions = 0', "max_sessions: must be a whole number, at least 1"),
        ('command = "x"\nenabled = "yes"', "enabled: must be true or false"),
        ('command = "x"\nsession = "warm"', "session: must be one of fresh, shared, chat"),
        ('command = "x"\ntools = ["a"]', "tools: must be a table such as"),
        ('url = "http://a"\nheaders = { A = "x\\ny" }', "headers.A: must not contain line breaks"),
    ],
)
def test_a_wrong_entry_is_told_and_costs_only_itself(entry: str, message: str, write_config: Write) -> None:
    found = load(write_config(f'[mcp.servers.bad]\n{entry}\n[mcp.servers.good]\ncommand = "python3"\n'))
    assert message in (found["bad"].error or "")
    assert (found["bad"].error or "").startswith("config.toml:")
    assert found["good"].error is None


def test_a_server_that_is_no_table_costs_only_itself(write_config: Write) -> None:
    found = load(write_config('[mcp.servers]\na = "python3 server.py"\nb = { command = "x" }'))
    assert "must be a table, not a string" in (found["a"].error or "")
    assert found["b"].error is None


def test_a_mistyped_key_is_a_warning_with_the_nearest_one(write_config: Write) -> None:
    config = load_config(write_config('[mcp]\nmax_toolz = 3\n[mcp.servers.a]\ncommand = "x"\ncal_timeout = 3\n'))
    assert any("max_toolz" in w and "did you mean 'max_tools'" in w for w in config.warnings)
    assert any("'a'" in w and "did you mean 'call_timeout'" in w for w in config.warnings)
    assert config.servers[0].error is None


def test_wrong_values_of_the_bridge_fall_back_with_a_warning(write_config: Write) -> None:
    text = '[mcp]\nmax_tools = 0\nmax_message_mib = 65\nschema_profile = "x"\nmax_spares = 0\nimport = 5\n'
    config = load_config(write_config(text))
    assert (config.max_tools, config.max_message_mib, config.schema_profile, config.max_spares) == (
        128,
        16,
        "default",
        0,
    )
    assert len(config.warnings) == 4


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_saved_by_a_windows_editor_loads_like_any_other(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes('[mcp.servers.a]\r\ncommand = "python3"\r\n'.encode(encoding))
    assert load(file)["a"].command == "python3"


def test_windows_paths_in_double_quotes_are_explained(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[mcp.servers.a]\ncommand = "C:\\Users\\me\\srv.exe"\n')
    before = file.read_bytes()
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    assert (caught.value.line, caught.value.file) == (2, str(file))
    assert caught.value.column
    assert "single quotes" in caught.value.message
    assert file.read_bytes() == before
    file.write_text("[mcp.servers.a]\ncommand = 'C:\\Users\\me\\srv.exe'\n")
    assert load(file)["a"].command == "C:\\Users\\me\\srv.exe"


@pytest.mark.parametrize("raw", [b"[mcp\n", b"a = 1\na = 2\n", b'[mcp.servers.a]\ncommand = "\xc4\xe3"\n'])
def test_an_unreadable_file_gives_file_and_line(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(raw)
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    assert caught.value.line
    assert "config.toml" in caught.value.message
    assert file.read_bytes() == raw


def test_a_missing_file_and_a_wrong_mcp_table_say_so(tmp_path: Path, write_config: Write) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="must be tables"):
        load_config(write_config("mcp = 5"))


def test_files_of_other_programs_are_read_and_imported(tmp_path: Path, write_config: Write) -> None:
    json_file = tmp_path / "claude.json"
    json_file.write_text(
        '{"mcpServers": {"a": {"command": "npx", "args": ["-y"]}, "off": {"command": "x", "disabled": true}}}'
    )
    found = load(json_file)
    assert (found["a"].args, found["off"].enabled) == (("-y",), False)
    own = write_config('[mcp]\nimport = ["claude.json", "none.json"]\n[mcp.servers.a]\ncommand = "own"\n')
    config = load_config(own)
    assert [(s.name, s.command) for s in config.servers if s.enabled] == [("a", "own")]
    assert any("none.json" in warning for warning in config.warnings)


def test_the_identity_of_a_server_holds_none_of_its_secrets(write_config: Write) -> None:
    file = write_config(
        """
        [mcp.servers.a]
        command = "x"
        env = { API_KEY = "s3cr3t-env" }
        [mcp.servers.b]
        url = "https://me:s3cr3t-user@example.com/mcp?key=s3cr3t-query"
        bearer = "s3cr3t-bearer"
        headers = { X = "s3cr3t-header" }
        """
    )
    found = load(file)
    assert "s3cr3t" not in found["a"].identity + found["b"].identity + repr(found)
    assert {"s3cr3t-user", "s3cr3t-query", "s3cr3t-bearer", "s3cr3t-header"} <= found["b"].secrets
    assert found["a"].secrets == {"s3cr3t-env"}


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from(
    "command args env url transport type headers bearer warm tools chats users roots session enabled cwd "
    "verify max_sessions call_timeout idle_timeout pin elicitation inherit_env unknown".split()
)
entries = st.dictionaries(keys, values, max_size=5) | values


@given(st.dictionaries(st.text(max_size=8), entries, max_size=4))
def test_no_entry_can_stop_the_others(servers: dict[str, Any]) -> None:
    """Whatever an owner writes in one table, the bot starts and the good server works."""
    servers["good"] = {"command": "python3"}
    config = parse_config({"mcp": {"servers": servers}}, lookup=lambda name: None)
    assert isinstance(config, BridgeConfig)
    assert [server.name for server in config.servers] == list(servers)
    assert next(server for server in config.servers if server.name == "good").error is None
    assert all(server.error is None or server.error.strip() for server in config.servers)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("mcpServers.a", "config.toml: mcpServers.a: not read; write [mcp.servers.a]"),
        ("mcp_servers.a", "config.toml: mcp_servers.a: not read; write [mcp.servers.a]"),
        ("servers.a", "config.toml: servers.a: not read; write [mcp.servers.a]"),
        ("mcp.mcpServers.a", "config.toml: mcp.mcpServers.a: not read; write [mcp.servers.a]"),
        ("mcp.a", "config.toml: mcp.a: not read; write [mcp.servers.a]"),
        ("MCP.servers.a", "config.toml: MCP.a: not read; write [mcp.servers.a]"),
        ("a", "config.toml: a: not read; write [mcp.servers.a]"),
    ],
)
def test_a_server_in_the_table_of_another_program_is_not_lost_in_silence(tmp_path: Path, table: str, said: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[plugin]\nenabled = true\n[{table}]\ncommand = "x"\n[mcp.servers.good]\ncommand = "y"\n')
    config = load_config(file)
    assert config.warnings == (said,)
    assert [server.name for server in config.servers] == ["good"]


@pytest.mark.parametrize(
    ("key", "ours"),
    [("serverUrl", "url"), ("httpUrl", "url"), ("environment", "env"), ("authorization", "bearer"), ("cmd", "command")],
)
def test_a_key_in_the_words_of_another_program_is_told_in_ours(tmp_path: Path, key: str, ours: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[mcp.servers.a]\n{key} = "x"\n')
    assert load_config(file).warnings == (f"config.toml:1: server 'a': unknown key '{key}', did you mean '{ours}'?",)
