"""One file for each server entry, named by an HMAC so that nothing can be learnt from the name."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from ..config.server_config import ServerConfig
from .atomic_file import clear, create_whole, write_whole

SALT_BYTES = 32
MAX_FILE_BYTES = 32 * 2**20
"""A stored catalogue larger than this is not ours."""


class EntryFiles:
    """One file per server entry in a folder, named so that nobody learns the entry from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._salt: bytes | None = None
        self._cleared = False

    def read(self, config: ServerConfig) -> bytes:
        """Return the entry's file. Raises `OSError`, also if it is too large to be ours."""
        file = self._file(config)
        if file.stat().st_size > MAX_FILE_BYTES:
            raise OSError(f"{file} is too large")
        return file.read_bytes()

    def write(self, config: ServerConfig, data: bytes) -> None:
        """Write the entry's file in one step: a reader or a crash never sees half of it. Raises `OSError`."""
        file = self._file(config)
        write_whole(file, data)
        if not self._cleared:
            self._cleared = True
            clear(self.folder)

    def _file(self, config: ServerConfig) -> Path:
        digest = hmac.new(self._read_salt(), config.identity.encode(), hashlib.sha256).hexdigest()
        return self.folder / f"{digest[:32]}.json"

    def _read_salt(self) -> bytes:
        file = self.folder / "salt"
        while self._salt is None:
            self._salt = _whole_salt(file)
            if self._salt is None:
                file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                _make_salt(file)
        return self._salt


def _make_salt(file: Path) -> None:
    """Make the salt unless another bot that starts at the same time has; put a new one in place of half of one.

    Raises `OSError`.
    """
    if not file.exists():
        create_whole(file, secrets.token_bytes(SALT_BYTES))
        return
    successor = file.with_suffix(".new")
    create_whole(successor, secrets.token_bytes(SALT_BYTES))
    if _whole_salt(file) is None:
        with contextlib.suppress(FileNotFoundError):  # another has put it there
            os.replace(successor, file)
    else:
        successor.unlink(missing_ok=True)


def _whole_salt(file: Path) -> bytes | None:
    """Return the salt, None if there is none or only half of one: whoever wrote it met a full disk."""
    try:
        salt = file.read_bytes()
    except FileNotFoundError:
        return None
    return salt if len(salt) >= SALT_BYTES else None
