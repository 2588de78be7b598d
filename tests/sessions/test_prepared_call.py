"""A call that is prepared for a session, and given up before anybody has taken it up."""

from __future__ import annotations

import asyncio
import gc
import logging
from pathlib import Path

import pytest

from mcp_bridge import ServerUnavailable
from mcp_bridge.aio import Deadline
from mcp_bridge.errors import NotSent
from mcp_bridge.sessions.requests import ToolRequest
from tests.support.entries import Write, odd
from tests.support.opening import opening
from tests.support.server_log import ServerLog
from tests.support.waiting import GENEROUS, until

pytestmark = pytest.mark.usefixtures("no_children_left")
LIMITS = Deadline(GENEROUS, GENEROUS)


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what asyncio has logged of futures that are gone, and whose exception nobody has looked at."""
    gc.collect()
    return [one.getMessage() for one in caplog.records if one.name == "asyncio" and one.levelno > logging.INFO]


@pytest.mark.parametrize("mode", ["exit_at_once", "version_future", "hang_init", "init_refused"])
async def test_a_handshake_that_fails_leaves_no_complaint_of_asyncio(
    write_config: Write, caplog: pytest.LogCaptureFixture, mode: str
) -> None:
    async with opening(write_config(odd("s", mode)), ToolRequest("echo", {"text": "x"})) as session:
        with pytest.raises(ServerUnavailable):
            await session.wait_ready(2)
        await asyncio.wait({session.owner})
    assert complaints(caplog) == []


async def test_a_caller_that_goes_during_the_handshake_leaves_no_complaint_of_asyncio(
    write_config: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = ServerLog(tmp_path / "log")
    file = write_config(odd("s", "slow_init", f"log={log.path}", "delay=0.5"))
    async with opening(file, ToolRequest("echo", {"text": "x"})) as session:
        waiting = asyncio.create_task(session.wait_ready(GENEROUS))
        await until(lambda: bool(log.received("initialize")))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.wait({session.owner})
    del waiting
    assert complaints(caplog) == []


async def test_one_whose_session_is_over_before_it_is_taken_up_may_have_run(write_config: Write) -> None:
    call = ToolRequest("crash", {})
    async with opening(write_config(odd("s", "crash_call")), call) as session:
        await session.wait_ready(GENEROUS)
        await asyncio.wait({session.owner})
        with pytest.raises(ServerUnavailable) as caught:
            await session.call_tool(call, LIMITS)
        assert not isinstance(caught.value, NotSent)


async def test_a_call_that_no_caller_takes_up_leaves_no_complaint_of_asyncio(
    write_config: Write, caplog: pytest.LogCaptureFixture
) -> None:
    async with opening(write_config(odd("s", "crash_call")), ToolRequest("crash", {})) as session:
        await session.wait_ready(GENEROUS)
        await asyncio.wait({session.owner})
    del session
    assert complaints(caplog) == []
