"""Servers that the owner has switched off in the chat or on the page, stored in the bot's data folder."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

from ...config.bridge_config import BridgeConfig
from ...store.atomic_file import write_whole
from ...store.file_lock import locked

logger = logging.getLogger(__name__)


class Switches:
    """The names of servers that are switched off although config.toml enables them."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.off = _read(file)

    def turn(self, server: str, *, on: bool) -> None:
        """Switch a server. If that cannot be stored, it holds until the next start, and a warning is logged.

        What another bot with the same data folder has switched off stays off.
        """
        self.off = self.off - {server} if on else self.off | {server}
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with locked(self._file):
                stored = _read(self._file)
                self.off |= stored - {server} if on else stored
                write_whole(self._file, json.dumps(sorted(self.off)).encode())
        except OSError as error:
            logger.warning(
                "the switch of '%s' only holds until the next start: %s",
                server,
                error.strerror or error,
            )

    def apply(self, config: BridgeConfig) -> BridgeConfig:
        """Return the configuration with these servers disabled."""
        servers = tuple(
            replace(server, enabled=False) if server.name in self.off else server for server in config.servers
        )
        return replace(config, servers=servers)


def _read(file: Path) -> frozenset[str]:
    try:
        names = json.loads(file.read_text("utf-8"))
        return frozenset(name for name in names if isinstance(name, str))
    except FileNotFoundError:
        return frozenset()
    except (OSError, ValueError, TypeError) as error:
        logger.warning("%s cannot be read; servers that were switched off are on again: %s", file, error)
        return frozenset()
