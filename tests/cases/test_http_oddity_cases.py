"""Remote servers: single answers, headers and events that are not what the protocol says, and what they may cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_bridge import Bridge, ServerUnavailable, load_config

from ..conftest import GENEROUS
from ..servers.http_raw import Asked, raw_server
from .remote import at

Write = Callable[..., Path]


async def outcome(bridge: Bridge, tool: str = "odd") -> str:
    """Return what a call gives, with the kind of its failure; in good time, whatever it is."""
    try:
        result = await asyncio.wait_for(bridge.call(f"mcp_s_{tool}"), GENEROUS)
    except ServerUnavailable as error:
        assert "'s'" in error.message
        return f"unavailable: {error.message}"
    return f"tool error: {result.text}" if result.is_error else result.text


async def beside(bridge: Bridge) -> tuple[str, str]:
    """Return what becomes of a call of `odd`, and of a call that runs beside it on the same session."""
    other = asyncio.create_task(outcome(bridge, "echo"))
    await asyncio.sleep(0.3)
    return await outcome(bridge), await other


def while_others_wait(odd: Callable[[Asked], object]) -> Callable[[Asked], object]:
    """Answer `odd` at once, and all other calls after a second."""

    def answer(asked: Asked) -> object:
        if asked.tool == "echo":
            time.sleep(1)
        return odd(asked) if asked.tool == "odd" else False

    return answer
