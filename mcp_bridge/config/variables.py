"""`${VAR}`, `${VAR:-default}` and a leading `~` in the values of a configuration."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable

# Cursor and VS Code write `env:` before the name, and people copy from their files.
_BEGIN = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-|\})")
_NEAR = re.compile(
    r"\$\{(?:\s+([A-Za-z_]\w*)\s*|([A-Za-z_]\w*)\s+|([A-Za-z_]\w*)-[^}]*)\}"  # ${ A }, ${A-b}
    r"|%([A-Z_][A-Z0-9_]{2,})%"  # Windows command line
)
_BRACE = re.compile(r"\$\{|\}")
_MAX_NESTING = 20
"""Levels of defaults within defaults that are expanded."""
_MAX_UNENDED = 3
"""References without a closing brace after which the rest of a value is taken literally."""


class MissingVariable(Exception):
    """The variable `name` is not set, and the reference gives no default."""

    def __init__(self, name: str) -> None:
        super().__init__(f"environment variable {name} is not set")
        self.name = name


class Expander:
    """Expands references to variables, and collects their names and values.

    `lookup` returns the value of a variable, None if it is not set.
    """

    def __init__(self, lookup: Callable[[str], str | None] = os.environ.get) -> None:
        self._lookup = lookup
        self.secrets: set[str] = set()
        """The values of all variables used: they are kept in the environment so that they stay secret.

        Defaults written in the file are not secret, nor is the path of the interpreter behind `${PYTHON}`.
        """
        self.names: list[str] = []
        """The names of all variables referred to, in that order."""

    def __call__(self, text: str) -> str:
        """Return the text with references and a leading `~` expanded, those inside defaults too.

        A `$` that does not begin a reference is kept. An empty variable counts as set, but a default
        takes precedence over it. Raises `MissingVariable`.
        """
        home = text == "~" or text.startswith(("~/", "~\\"))
        return self._expanded(os.path.expanduser(text) if home else text, _MAX_NESTING)

    def _expanded(self, text: str, nesting: int) -> str:
        parts: list[str] = []
        at = unended = 0
        while (begin := _BEGIN.search(text, at)) is not None:
            parts.append(text[at : begin.start()])
            at = begin.end()
            if begin[2] == "}":
                parts.append(self._value(begin[1], None, nesting))
            elif (end := _closing(text, at)) is not None:
                parts.append(self._value(begin[1], text[at:end], nesting))
                at = end + 1
            elif (unended := unended + 1) > _MAX_UNENDED:  # each costs a scan of the rest
                parts.append(begin[0])
                break
            else:
                parts.append(begin[0])
        return "".join([*parts, text[at:]])

    def _value(self, name: str, default: str | None, nesting: int) -> str:
        self.names.append(name)
        value = self._lookup(name)
        if value:
            self.secrets.add(value)
            return value
        if default is not None:
            return self._expanded(default, nesting - 1) if nesting else default
        if value is not None:
            return value
        if name == "PYTHON":
            return sys.executable
        raise MissingVariable(name)


def near_references(text: str) -> list[str]:
    """Return a hint for each part of a text that looks like a misspelt reference."""
    return [
        f"'{found[0]}' is taken as it stands; write ${{{name}}} or ${{{name}:-default}} for a variable"
        for found in _NEAR.finditer(text)
        if (name := next(filter(None, found.groups())))
    ]


def _closing(text: str, start: int) -> int | None:
    """Return the position of the brace that ends a default, past references inside it; None without one."""
    open_references = 0
    for found in _BRACE.finditer(text, start):
        if found[0] == "${":
            open_references += 1
        elif not open_references:
            return found.start()
        else:
            open_references -= 1
    return None
