"""One file per server entry, named by an HMAC with a random salt, so that the name reveals nothing."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from ..config.server_config import ServerConfig
from .atomic_file import LEFT_SECONDS, create_whole, remove_unfinished, write_whole

SALT_BYTES = 32
MAX_FILE_BYTES = 32 * 2**20
"""A larger file was not written by this program."""


class EntryFiles:
    """The files of one folder. The name is an HMAC over `ServerConfig.identity`, with a salt kept beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._salt: bytes | None = None
        self._cleared = False

    def read(self, config: ServerConfig) -> bytes:
        """Return the content of the entry's file. Raises `OSError`, also if it exceeds `MAX_FILE_BYTES`."""
        file = self._file(config)
        if file.stat().st_size > MAX_FILE_BYTES:
            raise OSError(f"{file} is too large")
        return file.read_bytes()

    def write(self, config: ServerConfig, data: bytes) -> None:
        """Write the entry's file; a reader or a crash never sees half of it. Raises `OSError`."""
        file = self._file(config)
        write_whole(file, data)
        if not self._cleared:
            self._cleared = True
            remove_unfinished(self.folder, age=LEFT_SECONDS)

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
    """Create the salt, unless another bot does so at the same time; replace a salt that is incomplete.

    Raises `OSError`.
    """
    if not file.exists():
        create_whole(file, secrets.token_bytes(SALT_BYTES))
        return
    successor = file.with_suffix(".new")
    create_whole(successor, secrets.token_bytes(SALT_BYTES))
    if _whole_salt(file) is None:
        with contextlib.suppress(FileNotFoundError):  # another bot has done so
            os.replace(successor, file)
    else:
        successor.unlink(missing_ok=True)


def _whole_salt(file: Path) -> bytes | None:
    """Return the salt, None if it is missing or incomplete, as after a full disk."""
    try:
        salt = file.read_bytes()
    except FileNotFoundError:
        return None
    return salt if len(salt) >= SALT_BYTES else None
