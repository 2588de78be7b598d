"""A file replaced as a whole: at every moment it is the old one or the new one."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path


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
