"""Add servers to the owner's `config.toml`: the file is replaced as a whole or left alone.

Needs the package tomlkit, which MaiBot installs and which is the extra `import` elsewhere.
"""

from __future__ import annotations

import codecs
import copy
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Item

from ..config.bridge_config import parse_config
from ..config.reading import parse_toml, read_text
from ..errors import ConfigError
from .atomic_file import remove_unfinished, write_whole
from .file_lock import locked

NEW_FILE = "[plugin]\nenabled = true\n"
"""The beginning of a new `config.toml`."""
_ENCODINGS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class ConfigFile:
    """A `config.toml` as it was when this object was created. Raises `ConfigError` if it cannot be read."""

    def __init__(self, file: Path) -> None:
        self.file = Path(os.path.realpath(os.path.expanduser(file)))
        self._text = read_text(self.file) if os.path.exists(self.file) else None

    def server_names(self) -> set[str]:
        """Return the names of its servers. Raises `ConfigError` if the file is not valid TOML."""
        if self._text is None:
            return set()
        data = parse_toml(self._text, self.file)
        parse_config(data, file=self.file, text=self._text)  # raises if [mcp] is not a table
        return set(data.get("mcp", {}).get("servers", {}))

    def add_servers(self, servers: Mapping[str, Mapping[str, Any]], *, private_as: Path) -> None:
        """Add servers under new names, and change nothing else in the file.

        A new file gets the permissions of `private_as`. Raises `ConfigError`; the file is then as it was.
        """
        new = extended(NEW_FILE if self._text is None else self._text, servers, self.file)
        try:
            with locked(self.file):
                self._write(new, private_as)
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror or error}", file=str(self.file)) from error

    def _write(self, new: str, private_as: Path) -> None:
        old = self.file.read_bytes() if os.path.exists(self.file) else None
        mark, encoding = next(((bom, name) for bom, name in _ENCODINGS if (old or b"").startswith(bom)), (b"", "utf-8"))
        if old != (None if self._text is None else mark + self._text.encode(encoding)):
            raise ConfigError("has changed meanwhile; nothing was written, try again", file=str(self.file))
        status = (private_as if old is None else self.file).stat()
        if old is not None and not (status.st_mode & stat.S_IWUSR and os.access(self.file, os.W_OK)):
            raise ConfigError("is read-only; nothing was written", file=str(self.file))
        # Under the lock no program of ours is writing here: what is unfinished was left by one that was killed.
        remove_unfinished(self.file.parent)
        write_whole(self.file, mark + new.encode(encoding), like=status)


_LITERAL = re.compile(r"[^\x00-\x1f'\x7f]*\\[^\x00-\x1f'\x7f]*")
"""Text with backslashes, such as a Windows path, which is easier to read in single quotes."""

Servers = Mapping[str, Mapping[str, Any]]


def extended(text: str, servers: Servers, file: Path) -> str:
    """Return the text with the servers added. Raises `ConfigError` if that is not possible.

    `text` is the valid TOML of `file` and has no servers of these names. The result is parsed again and
    compared, so that nothing else can change.
    """
    wanted = copy.deepcopy(parse_toml(text, file))
    wanted.setdefault("mcp", {}).setdefault("servers", {}).update(servers)
    for add in (_appended, _inserted):
        try:
            new = add(text, servers)
            if parse_toml(new, file) == wanted:
                return new
        except (ConfigError, TOMLKitError, ValueError, TypeError, LookupError, AttributeError):
            continue  # ConfigError: the new text is not valid TOML; the others come from tomlkit
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
    """Return a value as a TOML item on one line."""
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
