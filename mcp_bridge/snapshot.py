"""The stored catalogue: what discovery found, kept on disk for the next start.

One file per server entry, named by an HMAC over the entry without its secrets, with a
random salt kept beside it: an edited entry finds no old tools, a stranger learns nothing
from the names, and two bots that share the folder do not disturb each other. Whatever
cannot be read is ignored; whatever cannot be written costs a warning.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import secrets
import sys
import tempfile
from pathlib import Path

from . import strict_json
from .catalog import Listing, parse_tools
from .server_config import ServerConfig

logger = logging.getLogger(__name__)

FORMAT = 1
SALT_BYTES = 32
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


class Snapshots:
    """The stored listings of one data folder."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / "catalogue"
        self._salt: bytes | None = None
        self._warned = False

    def load(self, config: ServerConfig) -> Listing | None:
        """Return what was stored for an entry, None if nothing usable was."""
        try:
            file = self._file(config)
            if file.stat().st_size > MAX_FILE_BYTES:
                return None
            stored = json.loads(file.read_text("utf-8"))
            if stored["format"] != FORMAT or stored["server"] != config.name:
                return None
            return parse_tools(config.name, stored["tools"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            logger.debug("the stored tools of '%s' are not usable: %s", config.name, error)
            return None

    def save(self, config: ServerConfig, listing: Listing) -> None:
        """Store a listing, in one step: a reader or a crash never sees half of it."""
        stored = {
            "format": FORMAT,
            "server": config.name,
            "tools": [tool.to_json() for tool in listing.tools],
        }
        try:
            _replace(self._file(config), strict_json.dumps(stored).encode())
        except OSError as error:
            if not self._warned:
                logger.warning("tools cannot be stored in %s: %s", self._folder, error.strerror or error)
            self._warned = True

    def _file(self, config: ServerConfig) -> Path:
        digest = hmac.new(self._read_salt(), config.identity.encode(), hashlib.sha256).hexdigest()
        return self._folder / f"{digest[:32]}.json"

    def _read_salt(self) -> bytes:
        if self._salt is None:
            file = self._folder / "salt"
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                with file.open("xb") as stream:  # of two bots that start together one is first
                    stream.write(secrets.token_bytes(SALT_BYTES))
            except FileExistsError:
                pass
            self._salt = file.read_bytes()
        return self._salt


def _replace(file: Path, data: bytes) -> None:
    """Write a file in one step."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".new-")
    try:
        with open(handle, "wb") as stream:
            stream.write(data)
        os.replace(name, file)
    finally:
        Path(name).unlink(missing_ok=True)
