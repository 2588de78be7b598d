"""The stored catalogue: what discovery found, kept on disk for the next start.

One file per server entry, named by an HMAC over the entry without its secrets, with a
random salt kept beside it: an edited entry finds no old tools, a stranger learns nothing
from the names, and two bots that share the folder do not disturb each other. Whatever
cannot be read is ignored; whatever cannot be written costs a warning.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

from ..config.server_config import ServerConfig
from ..text import json_text
from ..tools.tool import Listing, parse_tools
from .entry_files import EntryFiles

logger = logging.getLogger(__name__)

FORMAT = 1


class StoredCatalogues:
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
