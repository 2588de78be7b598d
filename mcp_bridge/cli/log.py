"""The log of the command line: the package's standard logging, written to stderr."""

from __future__ import annotations

import logging
import sys

_FORMAT = "<level>{level: <7}</level> {message}"


def set_up_log(*, verbose: bool) -> None:
    """Show warnings, or everything if `verbose`. Uses loguru where it is installed: a bot may lack it."""
    package = logging.getLogger(__package__.rpartition(".")[0])
    package.setLevel(logging.DEBUG if verbose else logging.WARNING)
    package.propagate = False
    try:
        from loguru import logger as loguru
    except ImportError:
        handler: logging.Handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(levelname)-7s %(message)s"))
    else:
        loguru.remove()
        # diagnose would print the values of variables, including secrets
        loguru.add(sys.stderr, level=0, format=_FORMAT, backtrace=False, diagnose=False)
        handler = _ToLoguru()
    package.handlers[:] = [handler]


class _ToLoguru(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        from loguru import logger as loguru

        level: str | int = record.levelname
        try:
            level = loguru.level(record.levelname).name
        except ValueError:
            level = record.levelno
        loguru.opt(exception=record.exc_info).log(level, "{}", record.getMessage())
