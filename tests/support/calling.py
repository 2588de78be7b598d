"""What a call comes to."""

from __future__ import annotations

import asyncio

from mcp_bridge import Bridge, ServerUnavailable
from tests.support.waiting import GENEROUS


async def outcome(bridge: Bridge, tool: str = "odd") -> str:
    """Return what a call gives, with the kind of its failure; in good time, whatever it is."""
    try:
        result = await asyncio.wait_for(bridge.call(f"mcp_s_{tool}"), GENEROUS)
    except ServerUnavailable as error:
        return f"unavailable: {error.message}" if "'s'" in error.message else "its server is not named"
    return f"tool error: {result.text}" if result.is_error else result.text
