"""What `typing` lacks on Python 3.10."""

from __future__ import annotations

from typing import NoReturn


def assert_never(value: NoReturn) -> NoReturn:
    """Make the type checker fail where a `match` leaves out a kind (`typing.assert_never` of Python 3.11)."""
    raise AssertionError(f"unexpected value: {value!r}")
