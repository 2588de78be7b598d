"""`${VAR}`, `${VAR:-default}` and a leading `~` in the values of a configuration."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

# Editors' own files have `env:` before the name (Cursor, VS Code), and people copy from them.
_BEGIN = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-|\})")
_NEAR = re.compile(
    r"\$\{(?:\s+([A-Za-z_]\w*)\s*|([A-Za-z_]\w*)\s+|([A-Za-z_]\w*)-[^}]*)\}"  # ${ A }, ${A-b}
    r"|%([A-Z_][A-Z0-9_]{2,})%"  # of Windows' command line
)
_BRACE = re.compile(r"\$\{|\}")
_MAX_NESTING = 20
"""Defaults within defaults that are expanded."""
_MAX_UNENDED = 3
"""References without an end in one value, after which the rest of it is taken as it stands."""


class MissingVariable(Exception):
    """A variable that is neither set nor given a default; `name` is the variable's."""

    def __init__(self, name: str) -> None:
        super().__init__(f"environment variable {name} is not set")
        self.name = name


class Expander:
    """Expands references against one environment and remembers what came out of it.

    `secrets` collects the value of every variable that was used: what somebody keeps
    out of a file and in the environment is meant to stay unseen. Defaults written in
    the file are not secret, nor is the path of the interpreter behind `${PYTHON}`.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self.secrets: set[str] = set()
        self.names: list[str] = []
        """Every variable that was named, in the order in which they were."""

    def __call__(self, text: str) -> str:
        """Return the text with references and a leading `~` expanded; a default may hold references, too.

        A `$` that starts no `${NAME}` stays. Raises `MissingVariable` for a variable that
        is not set; one that is set to nothing counts as set, but yields to a default.
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
            elif (unended := unended + 1) > _MAX_UNENDED:  # each one costs a look at all the rest
                parts.append(begin[0])
                break
            else:
                parts.append(begin[0])
        return "".join([*parts, text[at:]])

    def _value(self, name: str, default: str | None, nesting: int) -> str:
        self.names.append(name)
        value = self._environ.get(name)
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
    """Return a hint for each thing in a text that was meant as a reference, perhaps, and is none."""
    return [
        f"'{found[0]}' is taken as it stands; write ${{{name}}} or ${{{name}:-default}} for a variable"
        for found in _NEAR.finditer(text)
        if (name := next(filter(None, found.groups())))
    ]


def _closing(text: str, start: int) -> int | None:
    """Return where the brace is that ends a default; it may hold whole references."""
    open_references = 0
    for found in _BRACE.finditer(text, start):
        if found[0] == "${":
            open_references += 1
        elif not open_references:
            return found.start()
        else:
            open_references -= 1
    return None
