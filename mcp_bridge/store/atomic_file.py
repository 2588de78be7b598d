"""Files of the data folder: at every moment each is the old one or the new one, also on a full disk."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

PREFIX = ".new-"
"""What a file is called before it is whole."""
LEFT_SECONDS = 3600.0
"""A file that has been unfinished for so long belongs to a program that was killed."""


def write_whole(file: Path, data: bytes) -> None:
    """Put `data` in place of `file`. Raises `OSError`; the file is then as it was."""
    with contextlib.ExitStack() as cleanup:
        os.replace(_unfinished(file, data, cleanup), file)


def create_whole(file: Path, data: bytes) -> None:
    """Write a file unless there is one, whoever creates it at the same time. Raises `OSError`."""
    with contextlib.ExitStack() as cleanup:
        unfinished = _unfinished(file, data, cleanup)
        try:
            os.link(unfinished, file)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not file.exists():
                os.replace(unfinished, file)


def clear(folder: Path) -> None:
    """Remove what killed programs have left unfinished in a folder."""
    for left in folder.glob(PREFIX + "*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_mtime - left.stat().st_mtime > LEFT_SECONDS:
                left.unlink()


def _unfinished(file: Path, data: bytes, cleanup: contextlib.ExitStack) -> Path:
    """Write the data beside the file; what is still there at the end is removed."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=PREFIX)
    unfinished = Path(name)
    cleanup.callback(unfinished.unlink, missing_ok=True)
    with open(handle, "wb") as stream:
        stream.write(data)
    return unfinished


def replace_file(file: Path, data: bytes, *, like: os.stat_result) -> None:
    """Put `data` in place of `file`, with the permissions and, where possible, the owner of `like`.

    Raises `OSError`; the file is then as it was and nothing is left beside it.
    """
    descriptor, temporary = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if hasattr(os, "chown"):
            with contextlib.suppress(OSError):  # only root may give files away
                os.chown(temporary, like.st_uid, like.st_gid)
        os.chmod(temporary, stat.S_IMODE(like.st_mode) & 0o777 | stat.S_IRUSR | stat.S_IWUSR)
        os.replace(temporary, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
