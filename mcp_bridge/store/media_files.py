"""Media of results as files: under a new, short name, never through a link and never over another file."""

from __future__ import annotations

import os
from pathlib import Path

MAX_NAME_BYTES = 120
"""Longest name in UTF-8, without the number that makes it new; file systems allow 255 bytes."""
MAX_TRIES = 1000
"""Names tried before the folder counts as full of them."""


def save_media(folder: Path, name: str, data: bytes) -> Path:
    """Write a file that only its owner can read; return its path. Raises `OSError`.

    `name` holds no path; a number is put before its ending if there is such a file, or a link, already.
    """
    stem, ending = os.path.splitext(name)
    ending = _cut(ending, MAX_NAME_BYTES // 4)
    stem = _cut(stem, MAX_NAME_BYTES - len(ending.encode()))
    # O_EXCL also refuses a link that stands under this name, wherever it leads.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    for number in range(1, MAX_TRIES + 1):
        file = folder / (f"{stem}{ending}" if number == 1 else f"{stem}-{number}{ending}")
        try:
            handle = os.open(file, flags, 0o600)
        except FileExistsError:
            continue
        with open(handle, "wb") as stream:
            stream.write(data)
        return file
    raise OSError(f"there are {MAX_TRIES} files called {stem}{ending}")


def _cut(text: str, most: int) -> str:
    """Return at most `most` bytes of a text, without half a character at the end."""
    return text.encode()[:most].decode(errors="ignore")
