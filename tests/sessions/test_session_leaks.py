"""What sessions leave behind: nothing."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from pathlib import Path

import psutil
import pytest

from mcp_bridge import Bridge, load_config
from mcp_bridge.sessions.session import Session
from mcp_bridge.transport.filter import MessageFilter
from mcp_bridge.transport.stdio.channel import StdioChannel
from mcp_bridge.transport.stdio.process import ServerProcess
from tests.support.entries import Write, odd
from tests.support.processes import children
from tests.support.server_log import running, starts
from tests.support.waiting import GENEROUS, until

pytestmark = pytest.mark.usefixtures("no_children_left")


@pytest.mark.process
async def test_a_thousand_calls_leave_nothing_behind(write_config: Write, tmp_path: Path) -> None:
    """Calls, cancelled ones and stubborn servers: afterwards all is as before."""
    entries = odd("s", "sleep", more="max_sessions = 6") + odd("eof", "ignore_eof") + odd("child", "grandchild")
    config = load_config(write_config(entries))

    def resources() -> tuple[int, list[str], int, set[int]]:
        # Not counted: the loop's worker threads, whose number grows up to a limit, and servers of other tests.
        others = ("asyncio_", "test server")
        threads = [thread.name for thread in threading.enumerate() if not thread.name.startswith(others)]
        return psutil.Process().num_fds(), threads, len(asyncio.all_tasks()), children()

    async def some(bridge: Bridge, count: int) -> None:
        for number in range(count):
            task = asyncio.create_task(bridge.call("mcp_s_sleep", {"seconds": 0 if number % 5 else 5}))
            if number % 5 == 0:
                await asyncio.sleep(0.02)
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            if number % 20 == 0:
                name = "mcp_eof_echo" if number % 40 else "mcp_child_echo"
                assert (await bridge.call(name, {"text": "x"})).text == "x"

    async with Bridge(config) as bridge:
        await some(bridge, 50)
    gc.collect()
    before = resources()
    async with Bridge(config) as bridge:
        await some(bridge, int(os.environ.get("MCP_BRIDGE_CALLS", "200")))
    gc.collect()
    await until(lambda: not children() - before[3], GENEROUS)
    assert resources() == before


@pytest.mark.process
async def test_what_belonged_to_a_session_goes_with_it_and_does_not_wait_for_the_collector(
    write_config: Write, tmp_path: Path
) -> None:
    """A full collection is rare in a bot: a hundred dead sessions would be kept until then."""
    kinds = (Session, StdioChannel, ServerProcess, MessageFilter)
    log = tmp_path / "log"
    async with Bridge(load_config(write_config(odd("s", "normal", f"log={log}")))) as bridge:
        gc.collect()
        gc.disable()
        try:
            for _ in range(10):
                await bridge.call("mcp_s_pid")
            for kind in kinds:
                await until(lambda kind=kind: sum(isinstance(one, kind) for one in gc.get_objects()) <= running(log))  # type: ignore[misc]
            assert len(starts(log)) > running(log) > 0
        finally:
            gc.enable()
