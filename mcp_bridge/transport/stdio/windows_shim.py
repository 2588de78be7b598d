"""The scripts behind the `.cmd` files that npm puts on PATH (Windows).

A `.cmd` file is run by cmd.exe, which interprets `&`, `%` and `^` in arguments, however they are quoted. So the
Node.js script behind it is started directly; if none is found, arguments that cmd.exe would interpret are
rejected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import PureWindowsPath

_SCRIPT = re.compile(r'"%(?:~dp0|dp0%)\\?([^"%]+\.(?:js|cjs|mjs))"', re.IGNORECASE)
_DANGEROUS = re.compile(r'[&|<>^%!"\r\n]')
_NPM = {"npx": "npx-cli.js", "npm": "npm-cli.js"}
MAX_SHIM_CHARS = 10_000


def is_shim(program: str) -> bool:
    """Tell whether a program is a file that cmd.exe would run."""
    return program.lower().endswith((".cmd", ".bat"))


def script_behind(program: str, read: Callable[[str], str], exists: Callable[[str], bool]) -> tuple[str, str] | None:
    """Return the Node.js and the script that a shim runs, None if it cannot be determined.

    `read` returns the text of a file or raises `OSError`.
    """
    path = PureWindowsPath(program)
    folder = path.parent
    beside = str(folder / "node.exe")
    node = beside if exists(beside) else "node"
    if name := _NPM.get(path.stem.lower()):
        script = str(folder / "node_modules" / "npm" / "bin" / name)
        if exists(script):
            return node, script
    try:
        text = read(program)[:MAX_SHIM_CHARS]
    except OSError:
        return None
    for found in _SCRIPT.finditer(text):
        script = str(folder / found.group(1).lstrip("\\"))
        if exists(script):
            return node, script
    return None


def unsafe_argument(args: Sequence[str]) -> str | None:
    """Return the first argument that cmd.exe would not pass on unchanged."""
    return next((arg for arg in args if _DANGEROUS.search(arg)), None)
