"""The owner's configuration: `config.toml` or an `mcpServers` JSON file -> `BridgeConfig`.

A file that cannot be read raises `ConfigError` with file, line and column. A wrong
entry is kept as a failed server with a message naming server, key, file and line, and
costs its neighbours nothing. No file is ever written here.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from . import jsonc
from .config_source import Source
from .entry_error import BACKSLASH_HINT, JSON_HINT
from .errors import ConfigError
from .mcp_json import server_tables
from .misplaced import misplaced_servers
from .server_config import ServerConfig
from .server_entry import parse_server
from .text.cleaning import encodable
from .variables import Expander

MAX_FILE_BYTES = 4 * 2**20
"""A configuration larger than this is somebody's mistake, not a configuration."""
_KEYS = (
    *("max_tools", "max_spares", "schema_profile", "max_description_chars", "max_message_mib", "owners", "max_visible"),
    *("language", "import", "defaults", "servers", "config_version"),
)
_POSITION = re.compile(r"\(at line (\d+), column (\d+)\)")


@dataclass(frozen=True)
class BridgeConfig:
    """The checked configuration. `warnings` are one line each, ready to be logged."""

    servers: tuple[ServerConfig, ...] = ()
    max_tools: int = 128
    max_spares: int = 4
    schema_profile: Literal["default", "strict"] = "default"
    max_description_chars: int = 1024
    max_message_mib: int = 16
    owners: tuple[str, ...] = ()
    """Who may use `/mcp` and confirm calls, as `<platform>:<id>`; nobody unless stated."""
    max_visible: int = 20
    """How many tools a host shows in every prompt; it lets the model search for the others."""
    language: Literal["zh", "en"] = "zh"
    """What the bot itself says in a chat is said in this language."""
    enabled: bool = True
    """What `[plugin]` says; only a bot heeds it."""
    warnings: tuple[str, ...] = ()
    file: Path | None = None
    secrets: frozenset[str] = field(default=frozenset(), repr=False)


def load_config(path: str | Path, *, environ: Mapping[str, str] | None = None) -> BridgeConfig:
    """Read a configuration file; `.json` and `.jsonc` are taken as `mcpServers`.

    `environ` stands in for the process environment in `${VAR}`. Raises `ConfigError` if the
    file as a whole cannot be read, never for one bad entry.
    """
    file = Path(path).expanduser().absolute()
    if file.suffix.lower() in (".json", ".jsonc"):
        servers, text = read_mcp_servers(file)
        data: Mapping[str, Any] = {"mcp": {"servers": servers}}
    else:
        text = read_text(file)
        data = parse_toml(text, file)
    return parse_config(data, file=file, text=text, environ=environ)


def parse_config(
    data: Mapping[str, Any],
    *,
    file: Path | None = None,
    text: str = "",
    environ: Mapping[str, str] | None = None,
) -> BridgeConfig:
    """Check a configuration that somebody else has parsed, a host for example.

    `file` is where it came from: its folder is the servers' default working directory.
    `text` lets messages give line numbers. Raises `ConfigError` if `mcp` or `mcp.servers`
    is not a table.
    """
    mcp = data.get("mcp", {})
    if not isinstance(mcp, Mapping) or not isinstance(mcp.get("servers", {}), Mapping):
        raise ConfigError("[mcp] and [mcp.servers.<name>] must be tables", file=str(file or ""))
    plugin = data.get("plugin")
    enabled = not (isinstance(plugin, Mapping) and plugin.get("enabled") is False)
    checked = _Checker(mcp, file, text, environ).check()
    place = f"{file.name}: " if file else ""
    elsewhere = {key: value for key, value in data.items() if key != "mcp"}
    warnings = (*(f"{place}{one}" for one in misplaced_servers(elsewhere)), *checked.warnings)
    return replace(checked, enabled=enabled, warnings=warnings)


def read_mcp_servers(file: Path) -> tuple[dict[str, Any], str]:
    """Return the unchecked servers of an `mcpServers` file and its text. Raises `ConfigError`.

    The servers are tables as `config.toml` would have them, whatever program wrote the file.
    """
    text = read_text(file)
    try:
        return server_tables(jsonc.loads(text), file), text
    except json.JSONDecodeError as error:
        hint = f"; {JSON_HINT}" if "escape" in error.msg else ""
        raise ConfigError(error.msg + hint, file=str(file), line=error.lineno, column=error.colno) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"cannot be read as JSON: {type(error).__name__}", file=str(file)) from error


def read_text(file: Path) -> str:
    """Return the text of a configuration file, without a byte order mark. Raises `ConfigError`."""
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", file=str(file)) from error
    if len(raw) > MAX_FILE_BYTES:
        raise ConfigError("is larger than 4 MiB", file=str(file))
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    else:
        encoding = "utf-8-sig"
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError("is not UTF-8 text; save it as UTF-8", file=str(file), line=line) from error


def parse_toml(text: str, file: Path) -> dict[str, Any]:
    """Return the data of a `config.toml`; `file` is named in errors. Raises `ConfigError`."""
    try:
        # Inside a bot there may be the standard library alone (Python >= 3.11).
        toml = import_module("tomli" if find_spec("tomli") else "tomllib")
    except ImportError:
        raise ConfigError("reading it needs the package tomli on Python 3.10", file=str(file)) from None
    try:
        parsed: dict[str, Any] = toml.loads(text)
        return parsed
    except ValueError as error:  # TOMLDecodeError of either
        place = _POSITION.search(str(error))
        message = _POSITION.sub("", str(error)).strip()
        line, column = (int(place.group(1)), int(place.group(2))) if place else (len(text.splitlines()), 1)
        lines = text.splitlines()
        if 0 < line <= len(lines) and re.search(r'"[^"]*\\', lines[line - 1]):
            message += f"; {BACKSLASH_HINT}"
        raise ConfigError(message, file=str(file), line=line, column=column) from error
    except RecursionError as error:
        raise ConfigError("is nested too deeply", file=str(file)) from error


class _Checker:
    """Checks `[mcp]` and each server; wrong values of `[mcp]` fall back to their defaults."""

    def __init__(self, mcp: Mapping[str, Any], file: Path | None, text: str, environ: Mapping[str, str] | None) -> None:
        self._mcp = mcp
        self._file = file
        self._own = Source(file, text)
        self._environ = environ
        self._warnings: list[str] = []

    def check(self) -> BridgeConfig:
        for key in self._mcp:
            if key not in _KEYS:
                place = f"{self._file.name}: " if self._file else ""
                if misplaced := [f"{place}mcp.{one}" for one in misplaced_servers({key: self._mcp[key]})]:
                    self._warnings += misplaced
                    continue
                near = difflib.get_close_matches(key, _KEYS, n=1)
                self._warn(f"mcp.{key}", "unknown key" + (f", did you mean '{near[0]}'?" if near else ""))
        base = self._file.parent if self._file else Path.cwd()
        servers = [self._server(name, table, base, source) for name, table, source in self._tables(base)]
        return BridgeConfig(
            servers=tuple(servers),
            max_tools=self._count("max_tools", 128, 1, 100_000),
            max_spares=self._count("max_spares", 4, 0, 1000),
            schema_profile="strict" if self._choice("schema_profile", ("default", "strict")) == "strict" else "default",
            max_description_chars=self._count("max_description_chars", 1024, 32, 100_000),
            max_message_mib=self._count("max_message_mib", 16, 1, 64),
            owners=self._owners(),
            max_visible=self._count("max_visible", 20, 0, 100_000),
            language="en" if self._choice("language", ("zh", "en")) == "en" else "zh",
            warnings=tuple(self._warnings),
            file=self._file,
            secrets=frozenset().union(*(server.secrets for server in servers)),
        )

    def _tables(self, base: Path) -> Iterator[tuple[str, object, Source]]:
        """Yield each server once: those of this file first, then the imported ones."""
        own = self._mcp.get("servers", {})
        yield from ((name, table, self._own) for name, table in own.items())
        imports = self._mcp.get("import", [])
        imports = [imports] if isinstance(imports, str) else imports
        if not isinstance(imports, list) or not all(isinstance(one, str) for one in imports):
            self._warn("mcp.import", "must be a list of file names; nothing is imported")
            return
        seen = set(own)
        for name in imports:
            file = base / Path(name).expanduser()
            try:
                found, text = read_mcp_servers(file)
            except ConfigError as error:
                self._warn("mcp.import", error.message)
                continue
            source = Source(file, text)
            yield from ((server, table, source) for server, table in found.items() if server not in seen)
            seen |= set(found)

    def _server(self, name: str, table: object, base: Path, source: Source) -> ServerConfig:
        defaults = self._mcp.get("defaults", {})
        if not isinstance(defaults, Mapping):
            defaults = {}
            self._warn("mcp.defaults", "must be a table; ignored")
        if not name.strip() or encodable(name) != name:
            config, key = ServerConfig(name=name, error="a server needs a name"), ""
        else:
            config, key = parse_server(name, table, base=base, expander=Expander(self._environ), defaults=defaults)
        for warning in config.warnings:
            self._warnings.append(f"{source.place(name, '')}server '{name}': {warning}")
        if config.error:
            top = re.split(r"[.\[]", key)[0]
            if top in defaults and not (isinstance(table, Mapping) and top in table):
                place = f"{self._file.name}: mcp.defaults." if self._file else "mcp.defaults."
            else:
                place = source.place(name, key)
            subject = f"{key}: " if key else ""
            config = replace(config, error=f"{place}{subject}{config.error}")
        return config

    def _warn(self, key: str, message: str) -> None:
        self._warnings.append(f"{self._file.name + ': ' if self._file else ''}{key}: {message}")

    def _count(self, key: str, default: int, least: int, most: int) -> int:
        value = self._mcp.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self._warn(f"mcp.{key}", f"must be a whole number from {least} to {most}; using {default}")
            return default
        return value

    def _choice(self, key: str, allowed: tuple[str, str]) -> str:
        """Return the value of a key, the first that is allowed if it is none of them."""
        value = self._mcp.get(key, allowed[0])
        if value not in allowed:
            self._warn(f"mcp.{key}", f"must be '{allowed[0]}' or '{allowed[1]}'; using '{allowed[0]}'")
            return allowed[0]
        return str(value)

    def _owners(self) -> tuple[str, ...]:
        value = self._mcp.get("owners", [])
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            self._warn("mcp.owners", 'must be a list such as ["qq:10001"]; nobody is an owner')
            return ()
        for one in value:
            if one.count(":") != 1 or not all(one.split(":")):
                self._warn("mcp.owners", f"'{one}' is no user: write <platform>:<id>, such as 'qq:10001'")
        return tuple(value)
