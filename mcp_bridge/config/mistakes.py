"""Mistakes in a configuration: what is wrong, where it stands, and which word was probably meant."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

BACKSLASH_HINT = "write Windows paths in single quotes ('C:\\dir\\x.exe') or double each backslash"
JSON_HINT = "double each backslash of Windows paths (C:\\\\dir), or write / instead"
# In double quotes, and in JSON, a backslash with a t is a tab, with an n a line end.


class EntryError(Exception):
    """What is wrong with an entry; `key` is the path inside it (`env.PORT`)."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class NoTarget(EntryError):
    """The entry names neither program nor address."""


def kind(value: object) -> str:
    """Return what a value of the file is called: `a list`."""
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
"""What other programs call our keys, in lower case."""
_FOREIGN = {
    "timeout": "; the limit of a call is call_timeout",
    "envFile": "; name the variables in env",
    "autoApprove": "",
    "alwaysAllow": "",
}
"""What other programs have in their files, and what to write instead."""


def odd_keys(given: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return a warning for each key that is none of the known ones, with the one that was meant perhaps."""
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
    """Return the arguments that somebody has written as one text."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", ""  # backslashes are of Windows' paths
    try:
        return list(lexer)
    except ValueError:
        return text.split()


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
