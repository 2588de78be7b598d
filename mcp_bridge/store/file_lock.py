"""A lock between programs: several may change the same file of the owner's at once."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .data_dir import default_data_dir

LOCK_SECONDS = 5.0
"""Longest wait for another program, which holds the lock for milliseconds."""
POLL_SECONDS = 0.02


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold the lock of a file; the system releases it when a program ends. Blocks: not for use on an event loop.

    The lock is a file of the per-user data folder, named by a digest of the path. Raises `OSError` if another
    program holds it for too long. Where no lock file can be made, there is no lock.
    """
    digest = hashlib.sha256(os.path.realpath(file).encode("utf-8", "surrogateescape")).hexdigest()
    folder = default_data_dir() / "locks"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        stream = (folder / f"{digest[:32]}.lock").open("ab")
    except OSError:  # a read-only home: the check for changes still finds most of what another program writes
        yield
        return
    with stream:
        deadline = time.monotonic() + LOCK_SECONDS
        while not _try_lock(stream):
            if time.monotonic() > deadline:
                raise OSError("another program is changing it")
            time.sleep(POLL_SECONDS)
        yield


def _try_lock(stream: IO[bytes]) -> bool:
    """Lock a file for this program until it is closed; return whether that worked."""
    try:
        if sys.platform == "win32":
            import msvcrt

            stream.seek(0)
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
