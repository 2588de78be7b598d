"""Ways to list the tools of several servers; each returns when the last list was there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import perf_counter

from mcp_bridge.transport.stdio.launch import Launch

from .errors import BenchmarkError
from .handwritten import HandwrittenSession
from .plain_sdk import sdk_session


async def list_with_sdk(launches: Sequence[Launch], tools: int) -> float:
    """List all at once with the SDK."""
    return _complete(await asyncio.gather(*(_sdk(launch) for launch in launches)), tools)


async def list_with_sdk_in_turn(launches: Sequence[Launch], tools: int) -> float:
    """List one after the other with the SDK, as most clients do."""
    return _complete([await _sdk(launch) for launch in launches], tools)


async def list_by_hand(launches: Sequence[Launch], tools: int) -> float:
    """List all at once with the minimal client."""
    return _complete(await asyncio.gather(*(_by_hand(launch) for launch in launches)), tools)


async def _sdk(launch: Launch) -> tuple[int, float]:
    async with sdk_session(launch) as session:
        return len((await session.list_tools()).tools), perf_counter()


async def _by_hand(launch: Launch) -> tuple[int, float]:
    session = await HandwrittenSession.open(launch)
    try:
        return await session.count_tools(), perf_counter()
    finally:
        await session.close()


def _complete(found: Sequence[tuple[int, float]], tools: int) -> float:
    count = sum(number for number, _ in found)
    if count != tools:
        raise BenchmarkError(f"{count} tools were listed instead of {tools}")
    return max(at for _, at in found)
