"""Write whole files: a reader or a crash sees the old content or the new, also on a full disk."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

PREFIX = ".mcp-bridge-new-"
"""Begins the name of a file that is not finished."""
LEFT_SECONDS = 3600.0
"""Age after which an unfinished file is taken to belong to a program that was killed."""


def write_whole(file: Path, data: bytes, *, like: os.stat_result | None = None) -> None:
    """Replace the content of `file`, or create it. Raises `OSError`; the file is then as it was.

    The file is readable by its owner only, unless `like` gives other permissions and, where the system
    allows it, another owner. With `like` the data is on the disk when this returns: the owner's own files
    cannot be made anew, as those of the data folder can.
    """
    with contextlib.ExitStack() as cleanup:
        unfinished = _unfinished(file, data, cleanup, sync=like is not None)
        if like is not None:
            _copy_permissions(unfinished, like)
        os.replace(unfinished, file)


def create_whole(file: Path, data: bytes) -> None:
    """Write a file unless it exists, even if another process creates it at the same time. Raises `OSError`."""
    with contextlib.ExitStack() as cleanup:
        unfinished = _unfinished(file, data, cleanup)
        try:
            os.link(unfinished, file)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not file.exists():
                os.replace(unfinished, file)


def remove_unfinished(folder: Path, *, age: float = 0.0) -> None:
    """Remove the unfinished files of killed programs from a folder, those older than `age` seconds."""
    for left in folder.glob(PREFIX + "*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_mtime - left.stat().st_mtime >= age:
                left.unlink()


def _unfinished(file: Path, data: bytes, cleanup: contextlib.ExitStack, *, sync: bool = False) -> Path:
    """Write the data to a new file in the same folder; `cleanup` removes it if it is still there."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=PREFIX)
    unfinished = Path(name)
    cleanup.callback(unfinished.unlink, missing_ok=True)
    with open(handle, "wb") as stream:
        stream.write(data)
        if sync:
            stream.flush()
            os.fsync(stream.fileno())
    return unfinished


def _copy_permissions(file: Path, like: os.stat_result) -> None:
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):  # only root may give files away
            os.chown(file, like.st_uid, like.st_gid)
    os.chmod(file, stat.S_IMODE(like.st_mode) & 0o777 | stat.S_IRUSR | stat.S_IWUSR)
