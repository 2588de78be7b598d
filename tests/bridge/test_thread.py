"""A bridge on its own thread, as hosts use it that are synchronous or reload."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from mcp_bridge import ServerUnavailable, load_config
from mcp_bridge.bridge.thread import BridgeThread
from tests.support.entries import Write, odd
from tests.support.waiting import GENEROUS

pytestmark = pytest.mark.usefixtures("no_children_left")


def test_a_bridge_on_a_thread_works_without_any_loop_and_ends_completely(write_config: Write) -> None:
    bridge = BridgeThread(load_config(write_config(odd("s", "normal"))))
    assert bridge.tools() == []
    bridge.start()
    assert bridge.wait_known(GENEROUS)
    assert [tool.name for tool in bridge.tools()] == ["mcp_s_echo", "mcp_s_pid"]
    assert bridge.submit("mcp_s_echo", {"text": "x"}).result(GENEROUS).text == "x"
    bridge.close_soon()
    assert bridge.join(GENEROUS)
    assert not any(thread.name == "mcp-bridge" for thread in threading.enumerate())
    with pytest.raises(ServerUnavailable):
        bridge.submit("mcp_s_echo")


async def test_running_calls_finish_after_the_order_to_close_and_no_new_ones_begin(
    write_config: Write,
) -> None:
    bridge = BridgeThread(load_config(write_config(odd("s", "sleep"))))
    bridge.start()
    await asyncio.to_thread(bridge.wait_known, GENEROUS)
    running = asyncio.create_task(bridge.call("mcp_s_sleep", {"seconds": 1.5}))
    await asyncio.sleep(0.3)
    before = time.monotonic()
    bridge.close_soon()
    assert time.monotonic() - before < 1
    with pytest.raises(ServerUnavailable):
        await bridge.call("mcp_s_echo", {"text": "x"})
    assert "slept" in (await running).text
    assert await asyncio.to_thread(bridge.join, GENEROUS)


def test_closing_before_or_during_the_start_is_no_problem(write_config: Write) -> None:
    config = load_config(write_config(odd("s", "hang_init")))
    for pause in (0.0, 0.05, 0.3):
        bridge = BridgeThread(config)
        bridge.start()
        time.sleep(pause)
        bridge.close_soon()
        assert bridge.join(GENEROUS)


def test_a_hanging_server_is_not_waited_for(write_config: Write) -> None:
    bridge = BridgeThread(load_config(write_config(odd("s", "hang_init"))))
    bridge.start()
    assert not bridge.wait_known(0.5)
    bridge.close_soon()
    assert bridge.join(GENEROUS)
