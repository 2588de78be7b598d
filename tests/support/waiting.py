"""Waiting for something, with a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

GENEROUS = 30.0
"""Upper bound in seconds for things that take moments, on a machine that is busy with others."""


async def until(condition: Callable[[], bool], seconds: float = GENEROUS) -> None:
    """Wait for a condition; fails if it does not come true in time."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "waited in vain"
        await asyncio.sleep(0.02)
