"""Records of each server's tools as they were first seen, or accepted by the owner.

A server can change the description or the parameters of a tool after the owner has read them. Each
change is reported with the difference; with `pin = true` the tool is withheld until the owner accepts
it. The records are kept apart from the stored catalogue, because they are not a cache.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..config.server_config import ServerConfig
from ..text import json_text
from ..text.cleaning import clean_label, truncate
from ..tools.tool import Listing, RemoteTool
from .entry_files import EntryFiles

logger = logging.getLogger(__name__)

FORMAT = 1
SHOWN_CHARS = 200
"""Most characters of an old or new text in a report."""
LEAD_CHARS = 40
"""Characters shown before the first difference of two texts."""


@dataclass(frozen=True)
class Change:
    """A tool that differs from the accepted one; `difference` describes how, on one line."""

    tool: str
    difference: str


class Approvals:
    """The accepted tools of all servers of one data folder."""

    def __init__(self, data_dir: Path) -> None:
        self._files = EntryFiles(data_dir / "approvals")
        self._warned = False

    def review(self, config: ServerConfig, listing: Listing) -> tuple[Listing, list[Change]]:
        """Return the tools that may be offered, and what has changed since they were recorded.

        Tools seen for the first time are recorded. Without `pin` changes are recorded, too, so that each
        is reported once.
        """
        accepted = self._load(config)
        if accepted is None:
            self.accept(config, listing)
            return listing, []
        changes = [change for tool in listing.tools if (change := _change(tool, accepted)) is not None]
        if not changes:
            return listing, []
        if not config.pin:
            self.accept(config, listing, accepted)
            return listing, [change for change in changes if change.tool in accepted]
        withheld = {change.tool for change in changes}
        kept = tuple(tool for tool in listing.tools if tool.remote_name not in withheld)
        return replace(listing, tools=kept), changes

    def withheld(self, config: ServerConfig, listing: Listing) -> list[Change]:
        """Return the changes for which `review` would withhold tools; nothing is recorded."""
        accepted = self._load(config) if config.pin else None
        if accepted is None:
            return []
        return [change for tool in listing.tools if (change := _change(tool, accepted)) is not None]

    def accept(self, config: ServerConfig, listing: Listing, former: Mapping[str, Any] | None = None) -> list[Change]:
        """Record a server's tools as they are now; return the changes since the last record.

        Tools in `former` that the server no longer lists are kept.
        """
        before = self._load(config) or {}
        tools = {**(former or {}), **{tool.remote_name: _essence(tool) for tool in listing.tools}}
        stored = {"format": FORMAT, "server": config.name, "tools": tools}
        try:
            self._files.write(config, json_text.dumps(stored).encode())
        except OSError as error:
            # Without `pin` only the report of a change is lost, and the catalogue warns of the folder already.
            level = logging.DEBUG if self._warned or not config.pin else logging.WARNING
            logger.log(level, "the record of accepted tools cannot be written: %s", error.strerror or error)
            self._warned = self._warned or config.pin
        return [change for tool in listing.tools if (change := _change(tool, before)) is not None]

    def _load(self, config: ServerConfig) -> dict[str, Any] | None:
        try:
            stored = json.loads(self._files.read(config))
            if stored["format"] == FORMAT and isinstance(stored["tools"], dict):
                return dict(stored["tools"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            level = logging.WARNING if config.pin else logging.DEBUG
            logger.log(level, "the record of accepted tools of '%s' cannot be read: %s", config.name, error)
        # With `pin` an unreadable record means that nothing is accepted, not that everything is.
        return {} if config.pin else None


def _essence(tool: RemoteTool) -> dict[str, Any]:
    """Return the parts of a tool that a model relies on."""
    essence: dict[str, Any] = json_text.plain(
        {"description": tool.description, "inputSchema": tool.input_schema, "annotations": tool.annotations}
    )
    return essence


def _change(tool: RemoteTool, accepted: Mapping[str, Any]) -> Change | None:
    now, before = _essence(tool), accepted.get(tool.remote_name)
    if now == before:
        return None
    if not isinstance(before, Mapping):
        return Change(tool.remote_name, "it is new")
    parts = [f"{key}: {_difference(before.get(key), now[key])}" for key in now if now[key] != before.get(key)]
    return Change(tool.remote_name, "; ".join(parts))


def _difference(before: Any, now: Any) -> str:
    """Show an old and a new value from a little before their first difference."""
    old, new = _text(before), _text(now)
    same = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    skipped = same - LEAD_CHARS if max(len(old), len(new)) > SHOWN_CHARS else 0
    return " -> ".join(repr(_shown(text, skipped)) for text in (old, new))


def _text(value: Any) -> str:
    return clean_label(value if isinstance(value, str) else json_text.dumps(value))


def _shown(text: str, skipped: int) -> str:
    return truncate(f"…{text[skipped:]}" if skipped > 0 else text, SHOWN_CHARS)
