"""Hears what the interpreter, the loops and the library complain of without raising it."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .judge import Judge


class _Ear(logging.Handler):
    """A traceback in the log is a fault: expected failures are logged as one sentence."""

    def __init__(self, judge: Judge) -> None:
        super().__init__(logging.WARNING)
        self._judge = judge

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info or (record.name == "asyncio" and record.levelno >= logging.ERROR):
            error = record.exc_info[1] if record.exc_info else ""
            self._judge.fault(f"logged by {record.name}: {record.getMessage()} {error!r}")


@contextmanager
def listening(judge: Judge) -> Iterator[None]:
    """Record complaints of asyncio and threading as faults: destroyed tasks, unretrieved exceptions, dying threads."""
    ear = _Ear(judge)
    loggers = [logging.getLogger(name) for name in ("asyncio", "mcp_bridge")]
    hooks = sys.unraisablehook, threading.excepthook
    kept = [(logger, logger.propagate) for logger in loggers]

    def complain(what: Any) -> None:
        judge.fault(f"not caught: {what.exc_value!r}")

    for logger in loggers:
        logger.addHandler(ear)
        logger.propagate = False
    sys.unraisablehook = threading.excepthook = complain
    try:
        yield
    finally:
        sys.unraisablehook, threading.excepthook = hooks
        for logger, propagate in kept:
            logger.removeHandler(ear)
            logger.propagate = propagate
