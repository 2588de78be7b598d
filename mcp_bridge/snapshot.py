"""The stored catalogue: what discovery found, kept on disk for the next start.

One file per server entry, named by an HMAC over the entry without its secrets, with a
random salt kept beside it: an edited entry finds no old tools, a stranger learns nothing
from the names, and two bots that share the folder do not disturb each other. Whatever
cannot be read is ignored; whatever cannot be written costs a warning.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import logging
import os
import secrets
import sys
from pathlib import Path

from .config.server_config import ServerConfig
from .text import json_text
from .tools.tool import Listing, parse_tools
from .whole_file import clear, create_whole, write_whole

logger = logging.getLogger(__name__)

FORMAT = 1
SALT_BYTES = 32
_NOTES = "bots.json"
MAX_FILE_BYTES = 32 * 2**20
"""A stored catalogue larger than this is not ours."""


def default_data_dir() -> Path:
    """Return where data is kept if nobody says: `MCP_BRIDGE_DATA_DIR`, else a per-user folder."""
    if stated := os.environ.get("MCP_BRIDGE_DATA_DIR"):
        return Path(stated).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local", "mcp-bridge")
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/mcp-bridge"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share", "mcp-bridge")


def note_bot(config_file: Path, data_dir: Path) -> None:
    """Leave a note of where a bot keeps the data of its configuration, for the command line to find."""
    notes, key = _notes(), os.path.realpath(config_file)
    if notes.get(key) != str(data_dir):
        file = default_data_dir() / _NOTES
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(file, json.dumps({**notes, key: str(data_dir)}).encode())


def bot_data_dir(config_file: Path | None) -> Path | None:
    """Return where the bot with that configuration keeps its data, None if no bot has left a note."""
    folder = _notes().get(os.path.realpath(config_file)) if config_file else None
    return Path(folder) if folder and Path(folder).is_dir() else None


def _notes() -> dict[str, str]:
    try:
        notes = json.loads((default_data_dir() / _NOTES).read_text("utf-8"))
        return {str(key): str(value) for key, value in notes.items()}
    except (OSError, ValueError, AttributeError):
        return {}


class EntryFiles:
    """One file per server entry in a folder, named so that nobody learns the entry from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._salt: bytes | None = None
        self._cleared = False

    def read(self, config: ServerConfig) -> bytes:
        """Return the entry's file. Raises `OSError`, also if it is too large to be ours."""
        file = self._file(config)
        if file.stat().st_size > MAX_FILE_BYTES:
            raise OSError(f"{file} is too large")
        return file.read_bytes()

    def write(self, config: ServerConfig, data: bytes) -> None:
        """Write the entry's file in one step: a reader or a crash never sees half of it. Raises `OSError`."""
        file = self._file(config)
        write_whole(file, data)
        if not self._cleared:
            self._cleared = True
            clear(self.folder)

    def _file(self, config: ServerConfig) -> Path:
        digest = hmac.new(self._read_salt(), config.identity.encode(), hashlib.sha256).hexdigest()
        return self.folder / f"{digest[:32]}.json"

    def _read_salt(self) -> bytes:
        file = self.folder / "salt"
        while self._salt is None:
            self._salt = _whole_salt(file)
            if self._salt is None:
                file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                _make_salt(file)
        return self._salt


def _make_salt(file: Path) -> None:
    """Make the salt unless another bot that starts at the same time has; put a new one in place of half of one.

    Raises `OSError`.
    """
    if not file.exists():
        create_whole(file, secrets.token_bytes(SALT_BYTES))
        return
    successor = file.with_suffix(".new")
    create_whole(successor, secrets.token_bytes(SALT_BYTES))
    if _whole_salt(file) is None:
        with contextlib.suppress(FileNotFoundError):  # another has put it there
            os.replace(successor, file)
    else:
        successor.unlink(missing_ok=True)


def _whole_salt(file: Path) -> bytes | None:
    """Return the salt, None if there is none or only half of one: whoever wrote it met a full disk."""
    try:
        salt = file.read_bytes()
    except FileNotFoundError:
        return None
    return salt if len(salt) >= SALT_BYTES else None


class Snapshots:
    """The stored listings of one data folder."""

    def __init__(self, data_dir: Path) -> None:
        self._files = EntryFiles(data_dir / "catalogue")
        self._warned = False

    def load(self, config: ServerConfig) -> Listing | None:
        """Return what was stored for an entry, None if nothing usable was."""
        try:
            stored = json.loads(self._files.read(config))
            if stored["format"] != FORMAT or stored["server"] != config.name:
                return None
            return parse_tools(config.name, stored["tools"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            logger.debug("the stored tools of '%s' are not usable: %s", config.name, error)
            return None

    def save(self, config: ServerConfig, listing: Listing) -> None:
        """Store a listing."""
        tools = [tool.to_json() for tool in listing.tools]
        stored = {"format": FORMAT, "server": config.name, "tools": tools}
        try:
            self._files.write(config, json_text.dumps(stored).encode())
        except OSError as error:
            if not self._warned:
                logger.warning("tools cannot be stored in %s: %s", self._files.folder, error.strerror or error)
            self._warned = True
