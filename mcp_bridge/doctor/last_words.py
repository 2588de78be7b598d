"""What a server's last words mean: Python, node, npm, uv and many servers say the same in the same way."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class LastWords:
    """The case they belong to (a key of `CASEBOOK`), what it is about, and the telling line."""

    case: str
    name: str
    line: str


_PATTERNS = [
    (case, re.compile(pattern))
    for case, pattern in (
        ("module", r"No module named '?(?P<name>[\w.]+)"),
        ("script", r"can't open file '?(?P<name>[^']+?)'?:? \[Errno"),
        ("script", r"Cannot find (?:module|package) '(?P<name>[^']+)'"),  # node
        ("package", r"npm (?:error|ERR!) (?:code )?(?P<name>E404)\b"),
        ("package", r"not found in the package registry|No solution found when resolving"),  # uv
        ("package", r"pull access denied|manifest unknown|No such image"),  # docker
        ("daemon", r"[Cc]annot connect to the Docker daemon|connect to the docker API|error during connect"),
        ("network", r"\b(?:EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT)\b"),  # npm
        ("network", r"error sending request|[Ff]ailed to fetch"),  # uv
        ("port", r"EADDRINUSE|[Aa]ddress already in use"),
        (
            "env",
            r"\b(?P<name>[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b.*\b(?:not set|unset|missing|required|not defined|undefined)\b",
        ),
        ("env", r"(?:[Mm]issing|[Ss]et|[Rr]equires?)\b.*\b(?P<name>[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b"),
        ("usage", r"^[Uu]sage:|\berror: (?:the following |unrecognized |argument )|\b(?:is|are) required\b"),
    )
]
_OF_LAUNCHERS = frozenset({"package", "daemon", "network"})


def understand(lines: Iterable[str], *, by_launcher: bool) -> LastWords | None:
    """Return what the lines mean, by the first pattern that fits any of them; None if none does.

    Packages and the network are a matter of launchers (npx, uvx) only.
    """
    lines = list(lines)
    for case, pattern in _PATTERNS:
        if case in _OF_LAUNCHERS and not by_launcher:
            continue
        for line in reversed(lines):
            if found := pattern.search(line):
                return LastWords(case, found.groupdict().get("name") or "", line)
    return None
