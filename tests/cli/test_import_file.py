"""`mcp-bridge import` and the file it writes: nothing of it is lost, whatever happens."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge.cli.options import UsageError
from mcp_bridge.errors import ConfigError
from tests.support.importing import OWN, take_in, write_json


@pytest.fixture
def ready(tmp_path: Path) -> tuple[Path, Path]:
    config = tmp_path / "config.toml"
    config.write_text(OWN, encoding="utf-8")
    return write_json(tmp_path, {"a": {"command": "x"}}), config


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_a_full_disk_costs_nothing(step: str, ready: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    source, config = ready
    files = sorted(one for one in config.parent.iterdir() if one.is_file())
    monkeypatch.setattr(os, step, full_disk)
    with pytest.raises(ConfigError, match=r"config\.toml: cannot be written: No space left"):
        take_in(source, config)
    assert config.read_text(encoding="utf-8") == OWN
    assert sorted(one for one in config.parent.iterdir() if one.is_file()) == files


def test_a_read_only_file_and_a_missing_folder_are_told(ready: tuple[Path, Path]) -> None:
    source, config = ready
    config.chmod(0o444)
    with pytest.raises(ConfigError, match="is read-only"):
        take_in(source, config)
    assert config.read_text(encoding="utf-8") == OWN
    config.chmod(0o644)
    with pytest.raises(ConfigError, match="cannot be written"):
        take_in(source, config.parent / "no" / "config.toml")
    with pytest.raises(UsageError, match="TOML"):
        take_in(source, config.parent / "other.json")


def test_what_an_editor_saved_meanwhile_is_not_lost(ready: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    source, config = ready
    from mcp_bridge.store import config_toml

    slow: Callable[..., str] = config_toml.extended

    def saved_meanwhile(*arguments: Any) -> str:
        config.write_text("# saved\n")
        return slow(*arguments)

    monkeypatch.setattr(config_toml, "extended", saved_meanwhile)
    with pytest.raises(ConfigError, match="has changed meanwhile"):
        take_in(source, config)
    assert config.read_text() == "# saved\n"


@pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")
def test_permissions_and_links_are_kept(ready: tuple[Path, Path]) -> None:
    source, config = ready
    config.chmod(0o640)
    link = config.parent / "link.toml"
    link.symlink_to(config)
    take_in(source, link)
    assert link.is_symlink()
    assert stat.S_IMODE(config.stat().st_mode) == 0o640
    assert "mcp.servers.a" in config.read_text(encoding="utf-8")


def test_without_tomlkit_the_command_says_how_to_get_it(
    ready: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, config = ready
    for module in ("mcp_bridge.store.config_toml", "mcp_bridge.store.config_toml"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "tomlkit", None)
    with pytest.raises(UsageError, match=r"pip install 'tomlkit>=0\.13'"):
        take_in(source, config)
    assert config.read_text(encoding="utf-8") == OWN
