"""The stored catalogue: the tools that each server listed, kept on disk for the next start.

One file per server entry (see entry_files.py), so that an edited entry finds no old tools, and two bots
that share the folder do not disturb each other. A file that cannot be read is ignored; one that cannot be
written costs a warning.
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
    """The stored tool lists of one data folder."""

    def __init__(self, data_dir: Path) -> None:
        self._files = EntryFiles(data_dir / "catalogue")
        self._warned = False

    def load(self, config: ServerConfig) -> Listing | None:
        """Return the stored tools of an entry, None if there are none that can be used."""
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
        """Store the tools of an entry. A failure is logged, as a warning the first time."""
        tools = [tool.to_json() for tool in listing.tools]
        stored = {"format": FORMAT, "server": config.name, "tools": tools}
        try:
            self._files.write(config, json_text.dumps(stored).encode())
        except OSError as error:
            if not self._warned:
                logger.warning("tools cannot be stored in %s: %s", self._files.folder, error.strerror or error)
            self._warned = True
