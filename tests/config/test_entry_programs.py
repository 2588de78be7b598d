"""Entries that name a program, a folder or a file which is not what the owner believed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mcp_bridge import Bridge, load_config
from tests.support.entries import Write, odd
from tests.support.places import ODD_SERVER
from tests.support.server_log import ServerLog

pytestmark = pytest.mark.usefixtures("no_children_left")
GOOD = odd("good", "normal")


async def reasons(file: Path) -> dict[str, str]:
    """Start everything, see that the good server works, and return why the others do not."""
    async with Bridge(load_config(file)) as bridge:
        assert (await bridge.call("mcp_good_echo", {"text": "x"})).text == "x"
        return {one.name: one.reason for one in bridge.status()}


async def test_a_script_that_is_not_executable_is_named(write_config: Write, tmp_path: Path) -> None:
    (tmp_path / "server.sh").write_text("#!/bin/sh\n")
    said = await reasons(write_config('[mcp.servers.a]\ncommand = "./server.sh"\n' + GOOD))
    assert "server.sh" in said["a"]


@pytest.mark.process
async def test_a_program_of_another_machine_is_a_reason_and_no_crash(write_config: Write, tmp_path: Path) -> None:
    program = tmp_path / "arm-server"
    program.write_bytes(b"\x7fELF\x02\x01\x01" + b"\0" * 60)
    program.chmod(0o755)
    said = await reasons(write_config('[mcp.servers.a]\ncommand = "./arm-server"\n' + GOOD))
    assert f"cannot start {program}: Exec format error" in said["a"]


async def test_a_folder_as_the_program_is_not_found(write_config: Write, tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    said = await reasons(write_config('[mcp.servers.a]\ncommand = "./server"\n' + GOOD))
    assert said["a"] == "program not found: ./server"


async def test_a_working_directory_that_is_gone_costs_one_server(write_config: Write) -> None:
    said = await reasons(write_config(odd("a", "normal", more='cwd = "/no/such/folder"') + GOOD))
    assert said["a"] == "the folder cwd = '/no/such/folder' does not exist"


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ('command = "x"\nargs = ["ok", "${NOPE_VAR}"]', "args"),
        ('command = "${NOPE_VAR}"', "command"),
        ('url = "http://${NOPE_VAR}/mcp"', "url"),
        ('command = "x"\ncwd = "${NOPE_VAR}/data"', "cwd"),
        ('url = "http://127.0.0.1:9/mcp"\nbearer = "${NOPE_VAR}"', "bearer"),
    ],
)
async def test_a_variable_that_is_not_set_is_named_wherever_it_stands(
    write_config: Write, entry: str, key: str
) -> None:
    said = await reasons(write_config(f"[mcp.servers.a]\n{entry}\n" + GOOD))
    assert f"{key}: environment variable NOPE_VAR is not set" in said["a"]
    assert "${NOPE_VAR}" not in said["a"]


@pytest.mark.process
async def test_a_server_runs_in_the_folder_of_the_file_that_names_it(
    write_config: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "data").mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir("/")
    entries = odd("a", "env_report") + odd("b", "env_report", more='cwd = "sub"')
    entries += odd("c", "env_report", more='cwd = "~/data"')
    async with Bridge(load_config(write_config(entries))) as bridge:
        found = [(await bridge.call(f"mcp_{name}_cwd")).text for name in "abc"]
    assert found == [str(tmp_path), str(tmp_path / "sub"), str(tmp_path / "home" / "data")]


@pytest.mark.process
async def test_numbers_and_booleans_among_the_arguments_arrive_as_words(write_config: Write) -> None:
    text = odd("a", "env_report").replace('"env_report"', '"env_report", "--port", 8080, true, 0.5')
    async with Bridge(load_config(write_config(text))) as bridge:
        argv = json.loads((await bridge.call("mcp_a_argv")).text)
    assert argv[2:] == ["--port", "8080", "true", "0.5"]


@pytest.mark.process
async def test_a_file_of_another_program_saved_with_a_byte_order_mark_works(tmp_path: Path) -> None:
    file = tmp_path / "claude_desktop_config.json"
    entry = {"command": sys.executable, "args": [str(ODD_SERVER), "env_report"], "env": {"N": 5}, "type": "stdio"}
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps({"mcpServers": {"a": entry}}, indent=2).encode())
    async with Bridge(load_config(file)) as bridge:
        assert json.loads((await bridge.call("mcp_a_env")).text)["N"] == "5"


@pytest.mark.process
async def test_two_entries_of_the_same_program_keep_their_environments_apart(write_config: Write) -> None:
    entries = odd("a", "env_report", more='env = { WHO = "a" }') + odd("b", "env_report", more='env = { ONLY_B = "1" }')
    async with Bridge(load_config(write_config(entries))) as bridge:
        first, second = [json.loads((await bridge.call(f"mcp_{name}_env")).text) for name in "ab"]
    assert (first.get("WHO"), first.get("ONLY_B")) == ("a", None)
    assert (second.get("WHO"), second.get("ONLY_B")) == (None, "1")


async def test_a_server_that_is_switched_off_is_never_started(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    entries = odd("off", "normal", f"log={log.path}", more="enabled = false")
    async with Bridge(load_config(write_config(entries + GOOD))) as bridge:
        await bridge.refresh()
        assert {one.name: one.state for one in bridge.status()} == {"off": "disabled", "good": "ready"}
    assert log.starts() == 0
