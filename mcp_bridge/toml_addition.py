"""Tables of servers added to the text of a `config.toml`, of which not a byte is changed.

New tables go to the end of the file, as TOML 1.0, because a bot reads the file first. Where an owner has
written `mcp` or its `servers` as an inline table, TOML allows no table for them any more; then the
servers are added inside. What comes out is read back before anybody gets it.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Item

from .config.reading import parse_toml
from .errors import ConfigError

_LITERAL = re.compile(r"[^\x00-\x1f'\x7f]*\\[^\x00-\x1f'\x7f]*")
"""Text that is easier to read in single quotes: it has backslashes, as Windows paths do."""

Servers = Mapping[str, Mapping[str, Any]]


def extended(text: str, servers: Servers, file: Path) -> str:
    """Return the text with the servers in it. Raises `ConfigError` if they cannot be added.

    `text` is the valid TOML of `file`, without a server of these names.
    """
    wanted = copy.deepcopy(parse_toml(text, file))
    wanted.setdefault("mcp", {}).setdefault("servers", {}).update(servers)
    for way in (_appended, _inserted):
        try:
            new = way(text, servers)
            if parse_toml(new, file) == wanted:
                return new
        except (ConfigError, TOMLKitError, ValueError, TypeError, LookupError, AttributeError):
            continue  # ConfigError: the new text is no TOML; the others: tomlkit cannot do it
    raise ConfigError(
        "nothing was written: write [mcp.servers] as tables of their own, then servers can be added", file=str(file)
    )


def _appended(text: str, servers: Servers) -> str:
    lines = [""] if text and not text.endswith("\n") else []
    for name, table in servers.items():
        lines += ["", f"[mcp.servers.{tomlkit.key(name).as_string()}]"]
        lines += [f"{tomlkit.key(key).as_string()} = {_item(value).as_string()}" for key, value in table.items()]
    end = "\r\n" if 2 * text.count("\r\n") > text.count("\n") else "\n"
    return text + end.join([*lines, ""])


def _inserted(text: str, servers: Servers) -> str:
    document: Any = tomlkit.parse(text)
    mcp = document["mcp"]
    if "servers" not in mcp:
        mcp["servers"] = tomlkit.inline_table()
    for name, table in servers.items():
        mcp["servers"][name] = _item(table)
    return tomlkit.dumps(document)


def _item(value: Any) -> Item:
    """Return a value as it is written, on one line."""
    if isinstance(value, str) and _LITERAL.fullmatch(value):
        return tomlkit.string(value, literal=True)
    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        for key, item in value.items():
            inline.append(key, _item(item))
        return inline
    if isinstance(value, list):
        array = tomlkit.array()
        array.extend(map(_item, value))
        return array
    written: Item = tomlkit.item(value)
    return written
