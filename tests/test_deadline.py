"""Waiting with a limit, and being cancelled meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from mcp_bridge.deadline import happens


async def test_a_cancellation_that_comes_together_with_the_event_is_not_lost() -> None:
    """A user who takes a question back in the moment a place becomes free does not have it answered after all."""
    event = asyncio.Event()
    went_on = False

    async def wait() -> None:
        nonlocal went_on
        await happens(event, 60)
        went_on = True

    task = asyncio.create_task(wait())
    await asyncio.sleep(0.01)
    event.set()
    await asyncio.sleep(0)  # the waiter has ended, but its owner has not been told yet
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not went_on


async def test_the_limit_is_kept_and_told() -> None:
    event = asyncio.Event()
    assert not await happens(event, 0.05)
    event.set()
    assert await happens(event, 0)
