"""Translate `mcpServers` files of other programs into tables of `config.toml`.

Claude Desktop, Cursor, VS Code, Cherry Studio, AstrBot, Cline, Windsurf and others use different names for
the same settings. Each entry becomes the table that its owner would have written in `config.toml`; the
result is checked where all tables are checked (server_entry.py).
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath, PureWindowsPath
from typing import Any

from ..errors import ConfigError
from .server_config import TRANSPORTS

_ROOTS = ("mcpServers", "servers")
_PROJECT_FOLDERS = (".vscode", ".cursor")
_FLAGS = {"disabled": True, "isActive": False, "active": False, "enabled": False}
"""Keys that switch a server, each with the value that means off."""
_ADDRESSES = ("url", "baseUrl", "serverUrl", "httpUrl")
_TRANSPORT_WORDS = ("transport", "type", "transportType")
_TRANSPORTS = {"stdio": "stdio", "local": "stdio", "sse": "sse", "http": "http", "streamablehttp": "http"}
_REGISTRIES = {
    **dict.fromkeys(("npx", "npm", "bunx", "bun"), "npm_config_registry"),
    **dict.fromkeys(("uvx", "uv"), "UV_DEFAULT_INDEX"),
}
"""The environment variable that sets a launcher's package registry."""
_EXPANDED = ("command", "args", "cwd", "env", "url", "headers", "bearer", "ca_file")
_OTHERS_OWN = frozenset(
    # Appearance, bookkeeping and consent of the other program; none of it changes how a server runs.
    """name id description autoApprove alwaysAllow disabledAutoApproveTools shouldConfig configSample searchKey
    provider providerUrl logoUrl iconUrl tags longRunning dxtVersion dxtPath reference gallery version dev
    installSource isTrusted $schema""".split()
)
_PLACEHOLDER = re.compile(r"\$\{(?:(env|input|command|config|file|workspaceFolder):([^}]*)|([A-Za-z]+|/))\}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?::-.*)?")


def server_tables(data: object, file: Path) -> dict[str, Any]:
    """Return the servers of a parsed file by name, each as a table of `config.toml`.

    An entry that is not an object is returned unchanged. Raises `ConfigError` if the file holds no servers.
    """
    holder, key = _holder(data, file)
    # In VS Code `http` means "HTTP, else SSE", which here is the default without a transport.
    translator = _Translator(file, inputs=holder.get("inputs"), http_or_sse=key == "servers")
    tables: dict[str, Any] = {}
    for name, entry in _entries(holder[key]):
        shown = _shown_name(entry)
        chosen = name if shown is None or shown in tables else shown
        tables[chosen] = translator.table(entry) if isinstance(entry, Mapping) else entry
    return tables


def _holder(data: object, file: Path) -> tuple[Mapping[str, Any], str]:
    """Return the object that holds the servers, and their key in it."""
    if isinstance(data, list):
        return {"mcpServers": data}, "mcpServers"
    # VS Code's settings.json has them one level down.
    holders = [one for one in (data, data.get("mcp")) if isinstance(one, Mapping)] if isinstance(data, Mapping) else []
    found = [(holder, key) for holder in holders for key in _ROOTS if isinstance(holder.get(key), (Mapping, list))]
    for holder, key in found:
        if holder[key]:
            return holder, key
    if not found:
        raise ConfigError('no "mcpServers" (or "servers") object in this file', file=str(file))
    return found[0]


def _entries(servers: Mapping[str, Any] | list[Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(servers, Mapping):
        yield from servers.items()
        return
    for entry in servers:
        name = entry.get("name") if isinstance(entry, Mapping) else None
        yield (name if isinstance(name, str) else ""), entry


def _shown_name(entry: Any) -> str | None:
    """Return the name inside an entry of Cherry Studio, which keeps its servers under random keys."""
    if not isinstance(entry, Mapping) or "isActive" not in entry:
        return None
    name = entry.get("name")
    return name if isinstance(name, str) and name.strip() else None


class _Translator:
    """Translates the entries of one file."""

    def __init__(self, file: Path, *, inputs: object, http_or_sse: bool) -> None:
        self._folder = file.parent
        in_project = file.parent.name in _PROJECT_FOLDERS and file.parent.parent != Path(os.path.expanduser("~"))
        self._workspace = file.parent.parent if in_project else None
        self._http_or_sse = http_or_sse
        self._defaults: dict[object, str] = {}
        for one in inputs if isinstance(inputs, list) else ():
            if isinstance(one, Mapping) and isinstance(one.get("default"), str) and "}" not in one["default"]:
                self._defaults[str(one.get("id"))] = one["default"]

    def table(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        table = {key: value for key, value in entry.items() if value is not None and key not in _OTHERS_OWN}
        self._place(table)
        self._choose_tools(table)
        for key in ("env", "headers"):
            if isinstance(table.get(key), Mapping):
                table[key] = {name: value for name, value in table[key].items() if value is not None}
        self._set_registry(table)
        for key in _EXPANDED:
            if key in table:
                table[key] = self._expand(table[key])
        self._set_folder(table)
        self._switch(table)
        return table

    def _place(self, table: dict[str, Any]) -> None:
        """Set url, command and transport; an empty string counts as not given."""
        addresses = [table.pop(key) for key in _ADDRESSES if key in table]
        stated = [table.pop(key) for key in _TRANSPORT_WORDS if key in table]
        if table.get("command") == "":
            del table["command"]
        for address in addresses:
            if address != "":
                table["url"] = address
                break
        for word in stated[:1]:
            if isinstance(word, str) and word not in TRANSPORTS:
                word = _TRANSPORTS.get(re.sub("[-_ ]", "", word).lower(), word)
            if not (self._http_or_sse and word == "http" and "url" in table):
                table["transport"] = word

    def _choose_tools(self, table: dict[str, Any]) -> None:
        """Turn the lists of enabled and of disabled tools into rules."""
        rules = table.get("tools", {})
        if isinstance(rules, list):
            rules = {"allow": rules}
        off = table.pop("disabledTools", None)
        if isinstance(off, list) and off and isinstance(rules, Mapping) and "deny" not in rules:
            rules = {**rules, "deny": [glob.escape(one) if isinstance(one, str) else one for one in off]}
        if rules:
            table["tools"] = rules

    def _set_registry(self, table: dict[str, Any]) -> None:
        address = table.pop("registryUrl", None)
        command, env = table.get("command"), table.get("env", {})
        variable = _REGISTRIES.get(command) if isinstance(command, str) else None
        if address and variable and isinstance(env, Mapping):
            table["env"] = {variable: address, **env}

    def _set_folder(self, table: dict[str, Any]) -> None:
        """Set the working directory: relative to the file, or the folder of the project."""
        cwd = table.get("cwd")
        if cwd is None and self._workspace and "command" in table:
            table["cwd"] = str(self._workspace)
        elif isinstance(cwd, str) and not cwd.startswith(("~", "${")):
            whole = PurePath(cwd).is_absolute() or PureWindowsPath(cwd).is_absolute()
            table["cwd"] = cwd if whole else str(self._folder / cwd)

    def _switch(self, table: dict[str, Any]) -> None:
        """Combine all switches into `enabled`; a value of the wrong type is kept, to be reported later."""
        flags = {key: table.pop(key) for key in _FLAGS if key in table}
        wrong = [value for value in flags.values() if not isinstance(value, bool)]
        if wrong:
            table["enabled"] = wrong[0]
        elif any(value is _FLAGS[key] for key, value in flags.items()):
            table["enabled"] = False

    def _expand(self, value: Any) -> Any:
        if isinstance(value, str):
            return _PLACEHOLDER.sub(self._replacement, value)
        if isinstance(value, Mapping):
            return {key: self._expand(item) for key, item in value.items()}
        return [self._expand(item) for item in value] if isinstance(value, list) else value

    def _replacement(self, match: re.Match[str]) -> str:
        """Return the counterpart of an editor's placeholder.

        Values that only the editor knows, such as the answer to a prompt, are looked up in the environment:
        `${input:api-key}` becomes `${INPUT_API_KEY}`, and the server fails as long as that is not set.
        """
        kind, name, word = match.groups()
        if kind == "env" and _ENV_NAME.fullmatch(name):
            return f"${{{name}}}"
        if kind is not None:
            variable = re.sub("[^A-Z0-9]", "_", f"{kind}_{name}".upper())
            default = self._defaults.get(name) if kind == "input" else None
            return f"${{{variable}}}" if default is None else f"${{{variable}:-{default}}}"
        known = {"userHome": os.path.expanduser("~"), "pathSeparator": os.sep, "/": os.sep}
        if self._workspace:
            known |= {"workspaceFolder": str(self._workspace), "workspaceFolderBasename": self._workspace.name}
        return known.get(word, match.group())
