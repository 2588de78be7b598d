"""Where in the owner's file a mistake stands."""

from __future__ import annotations

import re
from pathlib import Path


class Source:
    """The file that a server comes from, to tell where in it a mistake stands."""

    def __init__(self, file: Path | None, text: str) -> None:
        self._file = file
        self._lines = text.splitlines()

    def place(self, server: str, key: str) -> str:
        """Return `config.toml:12: ` for a key of a server, or as much of it as is known."""
        if self._file is None:
            return ""
        line = _line_of(self._lines, server, key)
        return f"{self._file.name}:{line}: " if line else f"{self._file.name}: "


def _line_of(lines: list[str], server: str, key: str) -> int | None:
    """Return the line, from 1, where a key of a server stands, else where the server begins.

    TOML readers give no positions for values; this finds the usual ways of writing them.
    """
    name = re.escape(server)
    any_quotes = f"(?:{name}|\"{name}\"|'{name}')"
    header = re.compile(rf"\s*\[\s*mcp\s*\.\s*servers\s*\.\s*{any_quotes}\s*(\.[^\]]*)?\]")
    inline = re.compile(rf'\s*(?:{any_quotes}\s*=\s*\{{|"{name}"\s*:)')
    last = re.escape(key.rpartition(".")[2].partition("[")[0])
    wanted = re.compile(rf"""(?:^|[\s{{,])(?:{last}|"{last}"|'{last}')\s*[=:]""")
    start: int | None = None
    inside = False
    for number, line in enumerate(lines, 1):
        if header.match(line) or inline.match(line):
            start, inside = start or number, True
        elif inside and line.lstrip().startswith("["):
            inside = False
        if inside and key and wanted.search(line):
            return number
    return start
