"""Mistakes in a configuration: what is wrong, in which line, and which key was probably meant."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

BACKSLASH_HINT = "write Windows paths in single quotes ('C:\\dir\\x.exe') or double each backslash"
JSON_HINT = "double each backslash of Windows paths (C:\\\\dir), or write / instead"
# In double quotes, as in JSON, \t is a tab and \n a line end.


@dataclass(frozen=True)
class Mistake:
    """Why a server entry cannot be used."""

    kind: Literal["entry", "variable", "target", "impossible"]
    """`entry`: a value that cannot be read. `variable`: an environment variable that is not set. `target`: neither
    command nor url. `impossible`: the whole entry was read, but a value in it can never work.
    """
    key: str
    """The path inside the entry (`env.PORT`), "" if the entry as a whole is wrong."""
    text: str
    """The message for the owner."""
    variable: str = ""
    """The name of the variable, for the kind `variable`."""

    @property
    def top_key(self) -> str:
        """The key of the entry that `key` belongs to: `env` for `env.PORT`."""
        return self.key.partition(".")[0].partition("[")[0]


class EntryError(Exception):
    """Raised when a value of an entry cannot be read; stops reading the entry."""

    def __init__(
        self, key: str, text: str, *, kind: Literal["entry", "variable", "target"] = "entry", variable: str = ""
    ) -> None:
        super().__init__(text)
        self.mistake = Mistake(kind, key, text, variable)


def type_name(value: object) -> str:
    """Return the type of a value in the owner's words: `a list`."""
    if value is None:
        return "null"
    names = {"dict": "a table", "list": "a list", "str": "a string", "bool": "true/false", "int": "a number"}
    return names.get(type(value).__name__, f"a {type(value).__name__}")


ALIASES = {"type": "transport"}
_OTHER_WORDS = {
    **dict.fromkeys(("serverurl", "baseurl", "httpurl", "endpoint", "address"), "url"),
    **dict.fromkeys(("environment", "envs", "env_vars"), "env"),
    **dict.fromkeys(("authorization", "token", "apikey", "api_key"), "bearer"),
    **dict.fromkeys(("cmd", "program", "executable"), "command"),
    **dict.fromkeys(("workdir", "workingdirectory", "working_dir", "directory"), "cwd"),
    **dict.fromkeys(("arguments", "argv"), "args"),
}
"""Keys of other programs, in lower case, with ours for the same thing."""
_FOREIGN = {
    "timeout": "; the limit of a call is call_timeout",
    "envFile": "; name the variables in env",
    "autoApprove": "",
    "alwaysAllow": "",
}
"""Keys of other programs that have no counterpart here, with what to write instead, if anything."""


def odd_keys(given: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return a warning for each unknown key, with the known key that was probably meant."""
    keys = (*known, *ALIASES)
    warnings: list[str] = []
    for key in given:
        if key in _FOREIGN:
            warnings.append(f"key '{key}' of other programs is not taken over{_FOREIGN[key]}")
        elif key not in keys and key not in ("disabled", "description"):
            other = _OTHER_WORDS.get(key.lower())
            near = [other] if other else difflib.get_close_matches(key.lower(), keys, n=1)
            hint = f", did you mean '{near[0]}'?" if near else ""
            warnings.append(f"unknown key '{key}'{hint}")
    return warnings


def as_words(text: str) -> list[str]:
    """Split arguments that were written as one string."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", ""  # a backslash belongs to a Windows path
    try:
        return list(lexer)
    except ValueError:
        return text.split()


class SourceLines:
    """The lines of a configuration file, to name the line of a mistake."""

    def __init__(self, file: Path | None, text: str) -> None:
        self._file = file
        self._lines = text.splitlines()

    def place(self, server: str, key: str) -> str:
        """Return `config.toml:12: ` for a key of a server; without the line or "" where that is unknown."""
        if self._file is None:
            return ""
        line = _line_of(self._lines, server, key)
        return f"{self._file.name}:{line}: " if line else f"{self._file.name}: "


def _line_of(lines: list[str], server: str, key: str) -> int | None:
    """Return the line, from 1, of a key of a server, or of the server's first line if the key is not found.

    TOML readers give no positions of values, so the lines are searched for the usual spellings.
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
