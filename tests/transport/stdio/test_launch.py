"""How a server is started: what it inherits, where its program is looked for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from mcp_bridge.config.server_config import ServerConfig
from mcp_bridge.errors import ServerUnavailable
from mcp_bridge.transport.stdio.launch import child_environment, find_program, plan_launch


def test_a_server_inherits_what_it_needs_and_none_of_the_bots_secrets() -> None:
    bot = {
        "PATH": "/bin", "HOME": "/home/me", "LANG": "zh_CN.UTF-8", "LC_ALL": "C", "https_proxy": "http://p",
        "NO_PROXY": "x", "npm_config_registry": "r", "UV_DEFAULT_INDEX": "i", "XDG_CACHE_HOME": "/c",
        "OPENAI_API_KEY": "sk-secret", "QQ_PASSWORD": "pw", "XDG_SECRET_TOKEN": "t", "PYTHONPATH": "/bot",
    }  # fmt: skip
    env = child_environment(ServerConfig("a"), bot)
    kept = {"PATH", "HOME", "LANG", "LC_ALL", "https_proxy", "NO_PROXY", "npm_config_registry",
            "UV_DEFAULT_INDEX", "XDG_CACHE_HOME"}  # fmt: skip
    assert {name: env[name] for name in kept} == {name: bot[name] for name in kept}
    assert set(env) == kept | {"PYTHONUTF8"}
    assert env["PYTHONUTF8"] == "1"


def test_the_config_adds_to_the_environment_and_wins() -> None:
    bot = {"PATH": "/bin", "OPENAI_API_KEY": "k", "OTHER": "o"}
    own = child_environment(ServerConfig("a", env={"PATH": "/mine", "PYTHONUTF8": "0"}), bot)
    assert (own["PATH"], own["PYTHONUTF8"]) == ("/mine", "0")
    assert child_environment(ServerConfig("a", inherit_env=True), bot)["OPENAI_API_KEY"] == "k"
    named = child_environment(ServerConfig("a", inherit_env=("OTHER",)), bot)
    assert ("OTHER" in named, "OPENAI_API_KEY" in named) == (True, False)


def test_npx_is_found_as_the_cmd_file_that_it_is_on_windows() -> None:
    def which(command: str, path: str | None = None) -> str | None:
        return "C:\\nodejs\\npx.CMD" if command == "npx" and path == "C:\\nodejs" else None

    assert find_program("npx", {"PATH": "C:\\nodejs"}, ".", which) == ("C:\\nodejs\\npx.CMD", ())


def test_a_whole_command_line_in_one_string_is_split_as_a_shell_would() -> None:
    def which(command: str, path: str | None = None) -> str | None:
        return "/bin/python3" if command == "python3" else None

    assert find_program("python3 server.py 'a b'", {}, ".", which) == ("/bin/python3", ("server.py", "a b"))


def test_a_program_is_found_where_nvm_and_uv_put_it(tmp_path: Path) -> None:
    folder = tmp_path / ".nvm" / "versions" / "node" / "v22.1.0" / "bin"
    folder.mkdir(parents=True)
    program = folder / "npx-of-test"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    config = ServerConfig("a", command="npx-of-test", cwd=str(tmp_path))
    launch = plan_launch(config, {"PATH": "/bin", "HOME": str(tmp_path)})
    assert launch.program == str(program)
    assert launch.env["PATH"] == f"/bin{os.pathsep}{folder}"  # npx looks for node on PATH


def test_a_relative_program_is_looked_for_in_the_working_directory(tmp_path: Path) -> None:
    program = tmp_path / "run"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert plan_launch(ServerConfig("a", command="./run", cwd=str(tmp_path))).program == str(program)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-program-xyz", "program not found: no-such-program-xyz"),
        ("npx-not-there --yes", "move the words after the program to args"),
    ],
)
def test_a_missing_program_is_named(command: str, said: str) -> None:
    with pytest.raises(ServerUnavailable, match=said) as caught:
        plan_launch(ServerConfig("a", command=command, cwd="/"))
    assert caught.value.missing
    assert caught.value.server == "a"


def test_a_missing_interpreter_comes_with_the_word_that_helps() -> None:
    with pytest.raises(ServerUnavailable, match=r'command = "\$\{PYTHON\}"'):
        plan_launch(ServerConfig("a", command="python", cwd="/"), {"PATH": "/nowhere", "HOME": "/nowhere"})


def test_a_missing_working_directory_is_named() -> None:
    with pytest.raises(ServerUnavailable, match="cwd = '/no/such/folder' does not exist"):
        plan_launch(ServerConfig("a", command=sys.executable, cwd="/no/such/folder"))
