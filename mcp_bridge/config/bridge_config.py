"""The owner's configuration: `config.toml` or an `mcpServers` JSON file -> `BridgeConfig`.

A file that cannot be read raises `ConfigError` with file, line and column. A wrong
entry is kept as a failed server with a message naming server, key, file and line, and
costs its neighbours nothing. No file is ever written here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ..errors import ConfigError
from ..text.cleaning import encodable
from .mistakes import Source
from .reading import parse_toml, read_mcp_servers, read_text
from .server_config import ServerConfig
from .server_entry import parse_server
from .variables import Expander

_KEYS = (
    *("max_tools", "max_spares", "schema_profile", "max_description_chars", "max_message_mib", "owners", "max_visible"),
    *("language", "import", "defaults", "servers", "config_version"),
)


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


def misplaced_servers(tables: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line that says where it belongs for each server in another table than `[mcp.servers.<name>]`.

    Others write `[mcpServers.a]`, `[mcp_servers.a]`, `[servers.a]`, or `[a]`.
    """
    for key, value in tables.items():
        if _is_server(value):
            yield f"{key}: not read; write [mcp.servers.{key}]"
        elif isinstance(value, Mapping):
            inner = value.get("servers")
            held = inner if isinstance(inner, Mapping) else value
            for name in (name for name, one in held.items() if _is_server(one)):
                yield f"{key}.{name}: not read; write [mcp.servers.{name}]"


def _is_server(value: object) -> bool:
    return isinstance(value, Mapping) and any(isinstance(value.get(key), (str, list)) for key in ("command", "url"))
