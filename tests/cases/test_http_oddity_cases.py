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


@pytest.mark.parametrize("value", ["小明", "é"])
@pytest.mark.parametrize("name", ["X_Author", "Set_Cookie"])
async def test_a_chinese_name_in_a_header_ended_the_session_and_the_call_beside(
    write_config: Write, name: str, value: str
) -> None:
    def answer(asked: Asked) -> bool:
        plain = "Set_Cookie" if name == "X_Author" else "X_Plain"
        return asked.reply(200, asked.result("done"), **{name: f"u={value}; Path=/", plain: "lb=2; Path=/"})

    with raw_server(while_others_wait(answer)) as server:
        async with Bridge(load_config(write_config(at(server.url, session="shared")))) as bridge:
            assert await beside(bridge) == ("done", "hello")
            assert await outcome(bridge) == "done"
            assert server.count("initialize") == 1
        sent = server.asked[-1][3].get("cookie", "")
        assert sent == ("lb=2" if name == "X_Author" else "")  # what keeps us at one of several servers


async def test_a_session_id_that_is_no_ascii_is_told_as_that(write_config: Write) -> None:
    with raw_server(session_id="é") as server:
        async with Bridge(load_config(write_config(at(server.url)))) as bridge:
            assert f"the Mcp-Session-Id of {server.url} has other characters" in bridge.status()[0].reason
