"""Find the data folder of this user, and that of the bot that uses a configuration."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from .atomic_file import write_whole

_NOTES = "bots.json"


def default_data_dir() -> Path:
    """Return the default data folder: `MCP_BRIDGE_DATA_DIR`, else a folder of this user."""
    if stated := os.environ.get("MCP_BRIDGE_DATA_DIR"):
        return Path(stated).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local", "mcp-bridge")
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/mcp-bridge"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share", "mcp-bridge")


def note_bot(config_file: Path, data_dir: Path) -> None:
    """Record the data folder of a bot under its configuration, for the command line. Raises `OSError`."""
    notes, key = _notes(), os.path.realpath(config_file)
    if notes.get(key) != str(data_dir):
        file = default_data_dir() / _NOTES
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(file, json.dumps({**notes, key: str(data_dir)}).encode())


def bot_data_dir(config_file: Path | None) -> Path | None:
    """Return the data folder of the bot with that configuration, None if no bot has recorded one."""
    folder = _notes().get(os.path.realpath(config_file)) if config_file else None
    return Path(folder) if folder and Path(folder).is_dir() else None


def _notes() -> dict[str, str]:
    try:
        notes = json.loads((default_data_dir() / _NOTES).read_text("utf-8"))
        return {str(key): str(value) for key, value in notes.items()}
    except (OSError, ValueError, AttributeError):
        return {}
