"""Numbers of questions: no number is used twice, also after a reload or a restart."""

from __future__ import annotations

import json
import logging
import secrets
from pathlib import Path

from ...store.atomic_file import write_whole

logger = logging.getLogger(__name__)

_RANDOM_FROM, _RANDOM_COUNT = 10**6, 10**9
"""Range of the numbers where none can be stored: long, but practically never used twice."""


class Numbers:
    """Counts up from the number in a file. May be used from any one thread at a time."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def take(self) -> int:
        """Return the next number; it is stored before it is used. Reads and writes a file."""
        try:
            number = self._last() + 1
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._file, json.dumps({"last": number}).encode())
        except (OSError, ValueError, TypeError, KeyError) as error:
            logger.debug("the number of the last question is unknown: %r", error)
            return _RANDOM_FROM + secrets.randbelow(_RANDOM_COUNT)
        return number

    def _last(self) -> int:
        if not self._file.exists():
            return 0
        return int(json.loads(self._file.read_text("utf-8"))["last"])
