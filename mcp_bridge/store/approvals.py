"""What each server's tools were when they were first seen, or accepted by the owner.

A server can change what a tool says or takes after somebody has looked at it. Each change
is reported with the difference; with `pin = true` the tool is withheld until the owner has
accepted it. Kept apart from the stored catalogue, and never treated as a cache.
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
"""How much of an old and a new text a report shows, in characters."""
LEAD_CHARS = 40
"""How much of what they have in common comes before their difference."""


@dataclass(frozen=True)
class Change:
    """A tool that is not as it was accepted; `difference` says how, on one line."""

    tool: str
    difference: str


class Approvals:
    """The accepted tools of all servers of one data folder."""

    def __init__(self, data_dir: Path) -> None:
        self._files = EntryFiles(data_dir / "approvals")
        self._warned = False

    def review(self, config: ServerConfig, listing: Listing) -> tuple[Listing, list[Change]]:
        """Return the tools that may be offered, and what has changed since the record.

        What is seen for the first time is recorded; without `pin` a change is recorded too,
        so that it is reported once.
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
        """Return which tools `review` would withhold; nothing is recorded."""
        accepted = self._load(config) if config.pin else None
        if accepted is None:
            return []
        return [change for tool in listing.tools if (change := _change(tool, accepted)) is not None]

    def accept(self, config: ServerConfig, listing: Listing, former: Mapping[str, Any] | None = None) -> list[Change]:
        """Record a server's tools as they are now; return what that changes."""
        before = self._load(config) or {}
        tools = {**(former or {}), **{tool.remote_name: _essence(tool) for tool in listing.tools}}
        stored = {"format": FORMAT, "server": config.name, "tools": tools}
        try:
            self._files.write(config, json_text.dumps(stored).encode())
        except OSError as error:
            # Without `pin` only the report of a change is at stake, and the folder is warned of already.
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
        # An unreadable record of a pinned server accepts nothing, rather than everything.
        return {} if config.pin else None


def _essence(tool: RemoteTool) -> dict[str, Any]:
    """Return what a model is told of a tool and what it takes."""
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
    """Show an old and a new value from a little before the place where they begin to differ."""
    old, new = _text(before), _text(now)
    same = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    skipped = same - LEAD_CHARS if max(len(old), len(new)) > SHOWN_CHARS else 0
    return " -> ".join(repr(_shown(text, skipped)) for text in (old, new))


def _text(value: Any) -> str:
    return clean_label(value if isinstance(value, str) else json_text.dumps(value))


def _shown(text: str, skipped: int) -> str:
    return truncate(f"…{text[skipped:]}" if skipped > 0 else text, SHOWN_CHARS)
