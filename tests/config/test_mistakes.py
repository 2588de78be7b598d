"""Mistakes in `config.toml` that were silent, or told in a way that helped nobody."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_bridge import BridgeConfig, ConfigError, load_config
from mcp_bridge.config.rules import Caller, is_admitted, matches
from mcp_bridge.transport.stdio import launch


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., BridgeConfig]:
    def load(text: str, suffix: str = ".toml", **environ: str) -> BridgeConfig:
        file = tmp_path / f"config{suffix}"
        file.write_text(text, encoding="utf-8")
        return load_config(file, environ=environ)

    return load


Read = Callable[..., BridgeConfig]
LOCAL = '[mcp.servers.a]\ncommand = "x"\n'
REMOTE = '[mcp.servers.a]\nurl = "https://h/mcp"\n'
GOOD = '[mcp.servers.good]\ncommand = "y"\n'


def error(config: BridgeConfig) -> str:
    """Return why server `a` cannot be used; its neighbour must be as it was."""
    good = next((server for server in config.servers if server.name == "good"), None)
    assert good is None or not good.error
    return next(server for server in config.servers if server.name == "a").error or ""


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ('confirm = ["@destructiv"]', "confirm: '@destructiv' is not a known annotation; did you mean '@destructive'?"),
        ('tools = { deny = ["@danger"] }', "tools.deny: '@danger' is not a known annotation"),
        ('tools = { allow = ["@"] }', "there are @readOnly and @destructive"),
        ('visible = ["@read_only"]', "did you mean '@readOnly'?"),
    ],
)
def test_a_guard_with_a_typing_error_is_no_open_door(read: Read, rule: str, said: str) -> None:
    config = read(LOCAL + rule + "\n" + GOOD)
    assert said in error(config)
    assert "config.toml:3: " in error(config)


def test_annotations_are_known_in_any_case_of_letters(read: Read) -> None:
    (server,) = read(LOCAL + 'confirm = ["@Destructive"]\ntools = { allow = ["@readonly", "x"] }').servers
    assert (server.confirm, server.tools.allow) == (("@destructive",), ("@readOnly", "x"))
    assert matches(server.confirm, "wipe", {})


@pytest.mark.parametrize(
    "rule", ['chats = ["123456"]', 'chats = "all"', 'users = ["10001"]', 'chats = ["qq：123"]', 'users = ["@bob"]']
)
def test_a_chat_or_user_that_can_never_match_is_told(read: Read, rule: str) -> None:
    (warning,) = read(LOCAL + rule).warnings
    assert "never matches, since its platform is missing; write qq:" in warning


@pytest.mark.parametrize("rule", ['chats = ["qq:1", "*", "*:private:*"]', 'users = ["qq:42", "?q:1"]'])
def test_a_good_pattern_is_taken_without_a_word(read: Read, rule: str) -> None:
    config = read(LOCAL + rule)
    assert not config.warnings
    assert is_admitted(config.servers[0], Caller("qq:group:1", "qq:42"))


@pytest.mark.parametrize("key", ["enabled", "cwd", "session", "url"])
def test_a_key_that_fell_into_the_table_below_is_told(read: Read, key: str) -> None:
    (warning,) = read(f'{LOCAL}[mcp.servers.a.env]\nTOKEN = "x"\n{key} = "false"\n').warnings
    assert f"env.{key}: is a key of the server; write it above [mcp.servers.a.env]" in warning


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://localhost:99999/mcp", "is not a valid URL"),
        ("http://localhost:80a0/mcp", "is not a valid URL"),
        ("http://[::1/mcp", "is not a valid URL"),
        ("https://", "names no host"),
        ("https:///mcp", "names no host"),
        ("http://localhost:0/mcp", "no port 0"),
        ("http://h/m cp", "blanks"),
    ],
)
def test_an_address_that_can_never_work_is_told_at_once(read: Read, url: str, said: str) -> None:
    config = read(f"[mcp.servers.a]\nurl = {json.dumps(url)}\n{GOOD}")
    assert "config.toml:2: url: " in error(config)
    assert said in error(config)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('bearer = "你的密钥"', "bearer: must be plain ASCII; is it still a placeholder?"),
        ('bearer = "“abc”"', "bearer: must be plain ASCII"),
        ('bearer = "sk-abc\\ndef"', "bearer: must not contain line breaks"),
        ('bearer = "abc def"', "bearer: must be a token alone"),
        ('bearer = "Bearer "', "bearer: is empty"),
        ('headers = { "X-Key" = "你的密钥" }', "headers.X-Key: must be plain ASCII"),
        ('headers = { "Authorization:" = "x" }', "headers.Authorization:: is not a valid header name"),
        ('headers = { "" = "x" }', "is not a valid header name"),
    ],
)
def test_a_token_that_cannot_be_sent_is_told_with_its_key(read: Read, entry: str, said: str) -> None:
    config = read(REMOTE + entry + "\n" + GOOD)
    assert said in error(config)
    assert "sk-abc" not in error(config)


def test_blanks_and_a_doubled_word_around_a_token_are_taken_off(read: Read) -> None:
    text = REMOTE + 'bearer = " Bearer ${T} "\nheaders = { "X-Key" = "${K}" }\n'
    config = read(text, T="abcdefgh12", K="ijklmnop34 ")
    (server,) = config.servers
    assert (server.bearer, server.headers["X-Key"].strip()) == ("abcdefgh12", "ijklmnop34")
    assert {"abcdefgh12", "ijklmnop34"} <= config.secrets


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ('command = "D:\\tools\\bin\\node.exe"', "command"),
        ('command = "x"\nargs = ["D:\\new\\file.js"]', "args[0]"),
        ('command = "x"\ncwd = "D:\\temp"', "cwd"),
        ('command = ["D:\\tools\\run.exe", "-v"]', "command[0]"),
    ],
)
def test_a_windows_path_whose_backslashes_became_tabs_is_told(read: Read, entry: str, key: str) -> None:
    told = error(read(f"[mcp.servers.a]\n{entry}\n{GOOD}"))
    assert f"{key}: contains a control character; write Windows paths in single quotes" in told


def test_a_windows_path_with_single_backslashes_in_a_json_file_is_told(read: Read) -> None:
    with pytest.raises(ConfigError, match=r"escape; double each backslash of Windows paths"):
        read('{"mcpServers": {"a": {"command": "C:\\Users\\x.exe"}}}', ".json")


def test_line_ends_in_arguments_that_are_no_paths_stay(read: Read) -> None:
    (server,) = read('[mcp.servers.a]\ncommand = "python"\nargs = ["-c", "import x\\nx.run()"]\n').servers
    assert (server.error, server.args) == (None, ("-c", "import x\nx.run()"))


def test_a_path_as_windows_copies_it_is_taken_without_its_quotes(read: Read) -> None:
    (server,) = read("[mcp.servers.a]\ncommand = '\"C:\\Program Files\\nodejs\\npx.cmd\"'\n").servers
    assert server.command == "C:\\Program Files\\nodejs\\npx.cmd"


def test_the_advice_for_arguments_in_one_text_keeps_backslashes(read: Read) -> None:
    assert r'write args = ["-y", "x", "D:\\notes"]' in error(read(LOCAL + "args = '-y x D:\\notes'\n"))


@pytest.mark.parametrize(
    ("text", "variables", "value"),
    [
        ("${A:-${B}}", {"A": "abcdefgh"}, "abcdefgh"),
        ("${A:-${B}}", {"B": "ijklmnop"}, "ijklmnop"),
        ("${A:-${B:-c}}", {}, "c"),
        ("x${A:-${B:-c}}y${C:-d}", {}, "xcyd"),
        ("${env:A}", {"A": "abcdefgh"}, "abcdefgh"),
        ("${A:-", {}, "${A:-"),
        ("${A:-x${B:-y}", {}, "${A:-xy"),
        ("${A.b} $A ${} {", {}, "${A.b} $A ${} {"),
    ],
)
def test_a_default_may_be_another_variable(read: Read, text: str, variables: dict[str, str], value: str) -> None:
    (server,) = read(f"{LOCAL}env = {{ N = '{text}' }}", **variables).servers
    assert server.env["N"] == value


def test_a_variable_in_a_default_that_is_not_set_is_named(read: Read) -> None:
    assert "environment variable B is not set" in error(read(LOCAL + "env = { N = '${A:-${B}}' }"))


def test_many_unended_references_cost_no_time(read: Read) -> None:
    (server,) = read(f"{LOCAL}env = {{ N = '{'${A:-' * 100_000}' }}").servers
    assert server.env["N"] == "${A:-" * 100_000


@pytest.mark.parametrize("text", ["${ TOKEN }", "${TOKEN-x}", "%APPDATA%"])
def test_what_looks_like_a_variable_and_is_none_is_told(read: Read, text: str) -> None:
    (warning,) = read(f"{LOCAL}env = {{ N = '{text}' }}").warnings
    assert f"env.N: '{text}' is taken as it stands; write ${{" in warning


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('transport = "stdio"\nurl = "https://h/mcp"', "transport: is for programs, and there is a url; remove it"),
        ('command = "x"\nenv = { "A=B" = "c" }', "env.A=B: is not a valid name of a variable"),
        ('command = "x"\nenv = { A = "a\\u0000b" }', "env.A: must not contain the character NUL"),
    ],
)
def test_what_the_system_would_refuse_is_told_before(read: Read, entry: str, said: str) -> None:
    assert said in error(read(f"[mcp.servers.a]\n{entry}\n{GOOD}"))


def test_a_mistake_in_the_defaults_is_told_where_it_is(read: Read) -> None:
    config = read('[mcp.defaults]\ncall_timeout = "60s"\n' + LOCAL)
    assert error(config).startswith("config.toml: mcp.defaults.call_timeout: ")


def test_null_is_called_null(read: Read) -> None:
    assert "must be a table, not null" in error(read('{"mcpServers": {"a": null}}', ".json"))


def test_files_named_in_an_entry_are_looked_for_beside_the_file(read: Read, tmp_path: Path) -> None:
    (server,) = read(REMOTE + 'ca_file = "ca.pem"\nroots = ["notes"]\n').servers
    assert server.ca_file == str(tmp_path / "ca.pem")
    assert server.roots == ((tmp_path / "notes").as_uri(),)


def test_a_program_beside_the_bots_own_python_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pip install uv` puts `uvx` there, and a bot started by the full path of its Python has it not on PATH."""
    program = tmp_path / ("uvx.exe" if sys.platform == "win32" else "uvx")
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert launch.find_program("uvx", {"PATH": "", "HOME": "/nowhere"}, ".")[0] == str(program)
