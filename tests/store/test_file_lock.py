"""Several programs that change one file wait for each other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mcp_bridge.store import file_lock
from mcp_bridge.store.file_lock import locked
from tests.support.places import ROOT

ADD = """
import sys
from pathlib import Path
from mcp_bridge.errors import ConfigError
from mcp_bridge.store.config_toml import ConfigFile
file, who = Path(sys.argv[1]), sys.argv[2]
for number in range(15):
    try:
        ConfigFile(file).add_servers({f"{who}{number}": {"command": "x"}}, private_as=file)
        print(f"{who}{number}", flush=True)
    except ConfigError:
        pass
"""


def test_one_that_waits_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_lock, "LOCK_SECONDS", 0.1)
    with locked(tmp_path / "a"):
        with pytest.raises(OSError, match="another program is changing it"), locked(tmp_path / "a"):
            pass
        with locked(tmp_path / "b"):
            pass
    with locked(tmp_path / "a"):
        pass


def test_where_no_lock_file_can_be_made_there_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MCP_BRIDGE_DATA_DIR", str(tmp_path / "file"))
    with locked(tmp_path / "a"):
        pass


@pytest.mark.process
def test_every_server_that_is_told_to_be_added_at_the_same_time_is_there(tmp_path: Path) -> None:
    """Reported: of 150 servers that six programs were told to have added, 91 were there."""
    file = tmp_path / "config.toml"
    file.write_text("[plugin]\nenabled = true\n", "utf-8")
    command = [sys.executable, "-c", ADD, str(file)]
    running = [
        subprocess.Popen([*command, who], cwd=ROOT, stdout=subprocess.PIPE, text=True) for who in ("a", "b", "c")
    ]
    told = [name for one in running for name in one.communicate(timeout=120)[0].split()]
    text = file.read_text("utf-8")
    assert len(told) >= 15
    assert [name for name in told if f"[mcp.servers.{name}]" not in text] == []
    assert sorted(one.name for one in tmp_path.iterdir()) == ["config.toml", "data"]


def test_the_copy_that_a_killed_program_left_goes_with_the_next_addition(tmp_path: Path) -> None:
    from mcp_bridge.store.atomic_file import PREFIX
    from mcp_bridge.store.config_toml import ConfigFile

    file = tmp_path / "config.toml"
    file.write_text('[mcp.servers.a]\ncommand = "x"\nenv = { KEY = "secret" }\n', "utf-8")
    (tmp_path / f"{PREFIX}killed").write_text(file.read_text("utf-8"), "utf-8")
    ConfigFile(file).add_servers({"b": {"command": "y"}}, private_as=file)
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(PREFIX)] == []
