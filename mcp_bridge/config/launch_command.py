"""Split the `command` of a stdio server into words, and name its program."""

from __future__ import annotations

import os
import re
import shlex

LAUNCHERS = frozenset({"npx", "uvx", "uv", "pipx", "bunx", "docker", "podman"})
"""Programs that may download the server first, which can take minutes."""
_ENDING = re.compile(r"\.(exe|cmd|bat|ps1)$", re.IGNORECASE)


def command_words(command: str) -> list[str]:
    """Split a command into words as a shell would, or at blanks if its quotes do not match."""
    try:
        return [word.strip('"') for word in shlex.split(command, posix=os.name != "nt")]
    except ValueError:
        return command.split()


def program_stem(path: str) -> str:
    """Return the name of a program without folder and ending: `npx` for `C:\\node\\npx.cmd`."""
    return _ENDING.sub("", re.split(r"[\\/]", path)[-1])


def program_name(command: str) -> str:
    """Return the program of a command without folder, ending and arguments: `npx` for `C:\\node\\npx.cmd -y`."""
    return program_stem(next(iter(command_words(command)), command))
