"""`mcp-bridge import FILE`: the servers of another program's file, written into `config.toml`.

This is the one place that changes the owner's file, and only on request. The file is replaced as
a whole or stays as it was. Secrets are copied from one file of the owner to the other and never shown.
"""

from __future__ import annotations

import codecs
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..cleaning import encodable
from ..config import parse_config, parse_toml, read_mcp_servers, read_text
from ..errors import ConfigError
from ..server_entry import KEYS
from .file_replacement import replace_file
from .options import UsageError
from .report import Report

NEW_FILE = "[plugin]\nenabled = true\n"
"""What a `config.toml` that is made here begins with."""
_ENCODINGS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def run(source: Path, config: Path, report: Report) -> None:
    """Write the servers of `source` into `config` and report on each.

    Raises `UsageError` without tomlkit, `ConfigError` if one of the files cannot be read or written;
    `config` is then as it was.
    """
    try:
        from .toml_addition import extended
    except ImportError:
        raise UsageError("import needs the package tomlkit: pip install 'tomlkit>=0.13'") from None
    source, config = Path(os.path.expanduser(source)).absolute(), Path(os.path.realpath(os.path.expanduser(config)))
    if config.suffix.lower() in (".json", ".jsonc"):
        raise UsageError(f"servers are written to a TOML file, not to {config.name}")
    found, _ = read_mcp_servers(source)
    text = read_text(config) if os.path.exists(config) else None
    choice = _Choice(config.name)
    choice.take(found, set() if text is None else _names(text, config))
    if choice.tables:
        new = extended(NEW_FILE if text is None else text, choice.tables, config)
        _write(config, text, new, source)
    report.imported(choice.notes, choice.skipped, str(config))


def _names(text: str, config: Path) -> set[str]:
    """Return the names of the servers that are there already. Raises `ConfigError`."""
    data = parse_toml(text, config)
    parse_config(data, file=config, text=text)  # refuses what is no table
    return set(data.get("mcp", {}).get("servers", {}))


class _Choice:
    """Which servers are written: `tables` and `notes` by name; `skipped` has the reasons for the others."""

    def __init__(self, config_name: str) -> None:
        self._config_name = config_name
        self.tables: dict[str, dict[str, Any]] = {}
        self.notes: dict[str, list[str]] = {}
        self.skipped: dict[str, str] = {}

    def take(self, found: Mapping[str, Any], taken: set[str]) -> None:
        for name, entry in found.items():
            if name in taken:
                self.skipped[name] = f"is in {self._config_name} already"
                continue
            on = {**entry, "enabled": True} if _is_off(entry) else entry  # so that all of it is checked
            variables = _AnyVariable()
            checked = parse_config({"mcp": {"servers": {name: on}}}, environ=variables)
            text = json.dumps(entry, ensure_ascii=False)
            reason = checked.servers[0].error
            if not reason and encodable(text) != text:
                reason = "contains half a character, which no TOML file can hold"
            if reason:
                self.skipped[name] = reason
                continue
            self.tables[name] = {key: entry[key] for key in KEYS if key in entry}
            notes = ["disabled"] if _is_off(entry) else []
            notes += checked.servers[0].warnings
            needed = [name for name in variables.unset if f"${{{name}}}" in text]  # the others have a default
            self.notes[name] = notes + [f"needs the environment variable {name}" for name in needed]


def _is_off(entry: object) -> bool:
    return isinstance(entry, Mapping) and entry.get("enabled") is False


class _AnyVariable(dict[str, str]):
    """An environment in which everything is set: what is not set here may be set where the bot runs.

    `unset` collects the variables that were asked for and are not set here.
    """

    def __init__(self) -> None:
        super().__init__()
        self.unset: list[str] = []

    def get(self, name: str, default: Any = None) -> Any:
        value = os.environ.get(name)
        if value is None and name not in ("PYTHON", *self.unset):
            self.unset.append(name)
        return "http://localhost" if value is None else value  # right wherever a variable can stand


def _write(config: Path, text: str | None, new: str, source: Path) -> None:
    """Replace `text` by `new`; a new file is as private as `source`, from which its secrets come."""
    try:
        old = config.read_bytes() if os.path.exists(config) else None
        mark, encoding = next(((bom, name) for bom, name in _ENCODINGS if (old or b"").startswith(bom)), (b"", "utf-8"))
        if old != (None if text is None else mark + text.encode(encoding)):
            raise ConfigError("has changed meanwhile; nothing was written, try again", file=str(config))
        status = (source if old is None else config).stat()
        if old is not None and not (status.st_mode & stat.S_IWUSR and os.access(config, os.W_OK)):
            raise ConfigError("is read-only; nothing was written", file=str(config))
        replace_file(config, mark + new.encode(encoding), like=status)
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror or error}", file=str(config)) from error
