"""How far the run is: a bar if rich is installed, else a line now and then, on stderr."""

from __future__ import annotations

import sys
import time
from typing import Any

LINE_SECONDS = 10.0


class Progress:
    """A context manager; `begin` names what is measured, `advance` counts a sample."""

    def __init__(self) -> None:
        self._what = ""
        self._done = 0
        self._total = 0
        self._shown_at = 0.0
        self._task: Any = None
        self._bar: Any = _bar()

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, what: str, total: int) -> None:
        """Say what is measured now, and how many samples it takes."""
        self._what, self._done, self._total = what, 0, total
        if self._bar is None:
            self._line()
            return
        if self._task is not None:
            self._bar.update(self._task, visible=False)
        self._task = self._bar.add_task(what, total=total)

    def advance(self, count: int = 1) -> None:
        self._done += count
        if self._bar is not None:
            self._bar.advance(self._task, count)
        elif time.monotonic() - self._shown_at > LINE_SECONDS:
            self._line()

    def _line(self) -> None:
        self._shown_at = time.monotonic()
        print(f"{self._what}: {self._done}/{self._total}", file=sys.stderr, flush=True)


def _bar() -> Any:
    if not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress
    except ImportError:
        return None
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return RichProgress(*columns, console=Console(stderr=True))
