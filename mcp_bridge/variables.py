"""`${VAR}`, `${VAR:-default}` and a leading `~` in the values of a configuration."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


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
        """Return the text with references and a leading `~` expanded.

        A `$` that starts no `${NAME}` stays. Raises `MissingVariable` for a variable that
        is not set; one that is set to nothing counts as set, but yields to a default.
        """
        home = text == "~" or text.startswith(("~/", "~\\"))
        return _REFERENCE.sub(self._value, os.path.expanduser(text) if home else text)

    def _value(self, match: re.Match[str]) -> str:
        name, default = match.groups()
        self.names.append(name)
        value = self._environ.get(name)
        if value:
            self.secrets.add(value)
            return value
        if default is not None:
            return default
        if value is not None:
            return value
        if name == "PYTHON":
            return sys.executable
        raise MissingVariable(name)
