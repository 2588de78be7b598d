"""Messages that leave it in doubt what they mean: no call gets the data or the failure of something else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_bridge import Bridge, load_config

from ..conftest import odd

Write = Callable[[str], Path]
pytestmark = pytest.mark.usefixtures("no_children_left")
SHARED = 'session = "shared"\n'


async def said(bridge: Bridge, text: str, seconds: float = 0) -> str:
    return (await bridge.call("mcp_s_say", {"text": text, "seconds": seconds})).text


@pytest.mark.parametrize("more", ["warm = 0", "warm = 1", SHARED])
@pytest.mark.parametrize("error", ["0", "-32601"])
async def test_a_server_that_answers_even_notifications_gives_each_call_its_own_answer(
    write_config: Write, more: str, error: str
) -> None:
    entry = odd("s", "answers_notifications", f"error={error}", more=more)
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert bridge.status()[0].tools == 4
        assert [await said(bridge, text, 0.8) for text in ("A", "B")] == ["A", "B"]


async def test_its_answer_to_a_notification_is_not_taken_for_its_list_of_tools(write_config: Write) -> None:
    entry = odd("s", "answers_notifications", "error=-32601", "list=1")
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert (bridge.status()[0].state, bridge.status()[0].tools) == ("ready", 4)


async def test_the_late_answer_to_a_ping_is_not_taken_for_that_of_a_call(write_config: Write) -> None:
    entry = odd("s", "late_nameless_ping", more="call_timeout = 6")
    async with Bridge(load_config(write_config(entry))) as bridge:
        await said(bridge, "first")
        await asyncio.sleep(1.35)  # the spare has given its ping up, and gets the answer to it during the call
        assert await said(bridge, "second") == "second"


@pytest.mark.parametrize("more", ["warm = 0", "warm = 1", SHARED])
async def test_a_server_that_tells_failures_without_a_name_ends_the_call_that_waits(
    write_config: Write, more: str
) -> None:
    async with Bridge(load_config(write_config(odd("s", "failures_nameless", more=more)))) as bridge:
        for _ in range(2):
            result = await asyncio.wait_for(bridge.call("mcp_s_odd"), 20)
            assert ("it broke" in result.text, result.is_error) == (True, True)


async def test_an_error_of_nobody_does_not_fail_the_call_that_begins_after_it(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "nameless_error_and_answer", more=SHARED)))) as bridge:
        assert (await bridge.call("mcp_s_odd")).text == "odd"
        assert await said(bridge, "B", 0.8) == "B"
