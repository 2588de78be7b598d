"""`mcp-bridge import FILE`: copy the servers of another program's file into `config.toml`.

The owner's file is replaced as a whole or stays unchanged. Secrets are copied from one file of the
owner to the other and never shown.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..config.bridge_config import parse_config
from ..config.reading import read_mcp_servers
from ..config.server_entry import KEYS
from ..text.cleaning import encodable
from .options import UsageError
from .report import Report

_ANY_VALUE = "http://localhost"
"""Stands for a variable that is not set here; valid in every place where a variable may be used."""


def run(source: Path, config: Path, report: Report) -> None:
    """Write the servers of `source` into `config` and report on each.

    Raises `UsageError` if tomlkit is missing, `ConfigError` if a file cannot be read or written;
    `config` is then unchanged.
    """
    try:
        from ..store.config_toml import ConfigFile
    except ImportError:
        raise UsageError("import needs the package tomlkit: pip install 'tomlkit>=0.13'") from None
    source = Path(os.path.expanduser(source)).absolute()
    if config.suffix.lower() in (".json", ".jsonc"):
        raise UsageError(f"servers are written to a TOML file, not to {config.name}")
    found, _ = read_mcp_servers(source)
    target = ConfigFile(config)
    config = target.file
    selection = _Selection(config.name, target.server_names())
    for name, entry in found.items():
        selection.add(name, entry)
    if selection.tables:
        target.add_servers(selection.tables, private_as=source)
    report.imported(selection.notes, selection.skipped, str(config))


class _Selection:
    """Which servers are written: `tables` and `notes` by name; `skipped` holds the reasons for the others."""

    def __init__(self, config_name: str, existing: set[str]) -> None:
        self._config_name = config_name
        self._existing = existing
        self.tables: dict[str, dict[str, Any]] = {}
        self.notes: dict[str, list[str]] = {}
        self.skipped: dict[str, str] = {}

    def add(self, name: str, entry: Any) -> None:
        """Check an entry; select it, or note why it is skipped."""
        if name in self._existing:
            self.skipped[name] = f"is in {self._config_name} already"
            return
        enabled = {**entry, "enabled": True} if _is_off(entry) else entry  # a disabled entry would not be checked
        variables = _Variables()
        checked = parse_config({"mcp": {"servers": {name: enabled}}}, lookup=variables.lookup)
        text = json.dumps(entry, ensure_ascii=False)
        reason = checked.servers[0].error
        if not reason and encodable(text) != text:
            reason = "contains half a character, which no TOML file can hold"
        if reason:
            self.skipped[name] = reason
            return
        self.tables[name] = {key: entry[key] for key in KEYS if key in entry}
        notes = ["disabled"] if _is_off(entry) else []
        notes += checked.servers[0].warnings
        needed = [variable for variable in variables.unset if f"${{{variable}}}" in text]  # others have a default
        self.notes[name] = notes + [f"needs the environment variable {variable}" for variable in needed]


def _is_off(entry: object) -> bool:
    return isinstance(entry, Mapping) and entry.get("enabled") is False


class _Variables:
    """Looks up environment variables, and collects those that are not set here: they may be set where the bot runs."""

    def __init__(self) -> None:
        self.unset: list[str] = []

    def lookup(self, name: str) -> str:
        value = os.environ.get(name)
        if value is None and name not in ("PYTHON", *self.unset):
            self.unset.append(name)
        return _ANY_VALUE if value is None else value
