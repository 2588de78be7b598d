"""The owner's configuration: `config.toml` or an `mcpServers` JSON file -> `BridgeConfig`.

A file that cannot be read raises `ConfigError` with file, line and column. A wrong entry becomes a
failed server whose message names key, file and line, and does not affect the other servers.
No file is ever written here.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from ..errors import ConfigError
from ..text.cleaning import encodable
from .mistakes import Mistake, SourceLines
from .reading import parse_toml, read_mcp_servers, read_text
from .server_config import ServerConfig
from .server_entry import parse_server
from .variables import Expander

_KEYS = (
    *("max_tools", "max_spares", "schema_profile", "max_description_chars", "max_message_mib", "owners", "max_visible"),
    *("language", "import", "defaults", "servers", "config_version"),
)
_Choice = TypeVar("_Choice", bound=str)


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
    """Users who may use `/mcp` and confirm calls, as `<platform>:<id>`."""
    max_visible: int = 20
    """The number of tools that a host shows in every prompt; the model can search for the others."""
    language: Literal["zh", "en"] = "zh"
    """The language of the bot's own messages in a chat."""
    enabled: bool = True
    """`enabled` of `[plugin]`; used by bots only."""
    warnings: tuple[str, ...] = ()
    file: Path | None = None
    secrets: frozenset[str] = field(default=frozenset(), repr=False)


def load_config(path: str | Path, *, environ: Mapping[str, str] | None = None) -> BridgeConfig:
    """Read a configuration file; `.json` and `.jsonc` are taken as `mcpServers`.

    `${VAR}` is looked up in `environ`, by default the environment of the process. Raises `ConfigError`
    if the file as a whole cannot be read, never for one bad entry.
    """
    file = Path(path).expanduser().absolute()
    if file.suffix.lower() in (".json", ".jsonc"):
        servers, text = read_mcp_servers(file)
        data: Mapping[str, Any] = {"mcp": {"servers": servers}}
    else:
        text = read_text(file)
        data = parse_toml(text, file)
    return parse_config(data, file=file, text=text, lookup=os.environ.get if environ is None else environ.get)


def parse_config(
    data: Mapping[str, Any],
    *,
    file: Path | None = None,
    text: str = "",
    lookup: Callable[[str], str | None] = os.environ.get,
) -> BridgeConfig:
    """Check a configuration that is already parsed, by a host for example.

    `file` is where it came from: its folder is the servers' default working directory.
    `text` is its content, for line numbers in messages. `lookup` returns the value of an environment
    variable, None if it is not set. Raises `ConfigError` if `mcp` or `mcp.servers` is not a table.
    """
    mcp = data.get("mcp", {})
    if not isinstance(mcp, Mapping) or not isinstance(mcp.get("servers", {}), Mapping):
        raise ConfigError("[mcp] and [mcp.servers.<name>] must be tables", file=str(file or ""))
    plugin = data.get("plugin")
    enabled = not (isinstance(plugin, Mapping) and plugin.get("enabled") is False)
    checker = _Checker(mcp, SourceLines(file, text), file, lookup)
    checker.warn_of_misplaced_servers("", {key: value for key, value in data.items() if key != "mcp"})
    return replace(checker.check(), enabled=enabled)


class _Checker:
    """Checks `[mcp]` and each server; a wrong value of `[mcp]` is replaced by the default, with a warning."""

    def __init__(
        self, mcp: Mapping[str, Any], lines: SourceLines, file: Path | None, lookup: Callable[[str], str | None]
    ) -> None:
        self._mcp = mcp
        self._lines = lines
        self._file = file
        self._base = file.parent if file else Path.cwd()
        self._lookup = lookup
        self._warnings: list[str] = []

    def warn_of_misplaced_servers(self, path: str, tables: Mapping[str, Any]) -> bool:
        """Warn about servers in tables that other programs read and mcp-bridge ignores; return whether there are any.

        Examples are `[mcpServers.a]`, `[mcp_servers.a]`, `[servers.a]` and `[a]`. `path` stands before the keys
        of `tables`.
        """
        found = [(key, name) for key, table in tables.items() for name in _servers_in(table)]
        for key, name in found:
            self._warn(
                f"{path}{key}.{name}" if name else f"{path}{key}", f"not read; write [mcp.servers.{name or key}]"
            )
        return bool(found)

    def check(self) -> BridgeConfig:
        for key in self._mcp:
            if key not in _KEYS and not self.warn_of_misplaced_servers("mcp.", {key: self._mcp[key]}):
                near = difflib.get_close_matches(key, _KEYS, n=1)
                self._warn(f"mcp.{key}", "unknown key" + (f", did you mean '{near[0]}'?" if near else ""))
        defaults = self._defaults()
        servers = [self._server(name, table, defaults, lines) for name, table, lines in self._tables()]
        return BridgeConfig(
            servers=tuple(servers),
            max_tools=self._count("max_tools", 128, 1, 100_000),
            max_spares=self._count("max_spares", 4, 0, 1000),
            schema_profile=self._choice("schema_profile", ("default", "strict")),
            max_description_chars=self._count("max_description_chars", 1024, 32, 100_000),
            max_message_mib=self._count("max_message_mib", 16, 1, 64),
            owners=self._owners(),
            max_visible=self._count("max_visible", 20, 0, 100_000),
            language=self._choice("language", ("zh", "en")),
            warnings=tuple(self._warnings),
            file=self._file,
            secrets=frozenset().union(*(server.secrets for server in servers)),
        )

    def _tables(self) -> Iterator[tuple[str, object, SourceLines]]:
        """Yield each server once: those of this file first, then the imported ones."""
        own = self._mcp.get("servers", {})
        yield from ((name, table, self._lines) for name, table in own.items())
        imports = self._mcp.get("import", [])
        imports = [imports] if isinstance(imports, str) else imports
        if not isinstance(imports, list) or not all(isinstance(one, str) for one in imports):
            self._warn("mcp.import", "must be a list of file names; nothing is imported")
            return
        seen = set(own)
        for name in imports:
            file = self._base / Path(name).expanduser()
            try:
                found, text = read_mcp_servers(file)
            except ConfigError as error:
                self._warn("mcp.import", error.message)
                continue
            lines = SourceLines(file, text)
            yield from ((server, table, lines) for server, table in found.items() if server not in seen)
            seen |= set(found)

    def _server(self, name: str, table: object, defaults: Mapping[str, Any], lines: SourceLines) -> ServerConfig:
        """Check one server, and put file and line before its warnings and its mistake."""
        if not name.strip() or encodable(name) != name:
            config = ServerConfig(name=name, mistake=Mistake("entry", "", "a server needs a name"))
        else:
            config = parse_server(name, table, base=self._base, expander=Expander(self._lookup), defaults=defaults)
        for warning in config.warnings:
            self._warnings.append(f"{lines.place(name, '')}server '{name}': {warning}")
        if (mistake := config.mistake) is None:
            return config
        top = mistake.top_key
        if top in defaults and not (isinstance(table, Mapping) and top in table):
            place = f"{self._place}mcp.defaults."
        else:
            place = lines.place(name, mistake.key)
        subject = f"{mistake.key}: " if mistake.key else ""
        return replace(config, mistake=replace(mistake, text=f"{place}{subject}{mistake.text}"))

    def _defaults(self) -> Mapping[str, Any]:
        defaults = self._mcp.get("defaults", {})
        if isinstance(defaults, Mapping):
            return defaults
        self._warn("mcp.defaults", "must be a table; ignored")
        return {}

    @property
    def _place(self) -> str:
        return f"{self._file.name}: " if self._file else ""

    def _warn(self, key: str, message: str) -> None:
        self._warnings.append(f"{self._place}{key}: {message}")

    def _count(self, key: str, default: int, least: int, most: int) -> int:
        value = self._mcp.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self._warn(f"mcp.{key}", f"must be a whole number from {least} to {most}; using {default}")
            return default
        return value

    def _choice(self, key: str, allowed: tuple[_Choice, _Choice]) -> _Choice:
        """Return the value of a key, or the first allowed one with a warning."""
        value = self._mcp.get(key, allowed[0])
        for one in allowed:
            if value == one:
                return one
        self._warn(f"mcp.{key}", f"must be '{allowed[0]}' or '{allowed[1]}'; using '{allowed[0]}'")
        return allowed[0]

    def _owners(self) -> tuple[str, ...]:
        value = self._mcp.get("owners", [])
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            self._warn("mcp.owners", 'must be a list such as ["qq:10001"]; there is no owner')
            return ()
        for one in value:
            if one.count(":") != 1 or not all(one.split(":")):
                self._warn("mcp.owners", f"'{one}' is not a user: write <platform>:<id>, such as 'qq:10001'")
        return tuple(value)


def _servers_in(table: object) -> Iterator[str]:
    """Yield the names of the servers in a table, "" if the table itself describes a server."""
    if _is_server(table):
        yield ""
    elif isinstance(table, Mapping):
        inner = table.get("servers")
        held = inner if isinstance(inner, Mapping) else table
        yield from (name for name, value in held.items() if _is_server(value))


def _is_server(value: object) -> bool:
    return isinstance(value, Mapping) and any(isinstance(value.get(key), (str, list)) for key in ("command", "url"))
