"""A session must not be taken for idle while somebody uses it in a way that is no call, or is about to."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mcp_bridge import Bridge, load_config
from tests.support.entries import Write, odd
from tests.support.server_log import ServerLog
from tests.support.waiting import until

SHARED = 'session = "shared"\nidle_timeout = 1'


async def test_a_call_during_the_start_of_a_shared_server_is_not_cut_off_and_starts_no_second_one(
    write_config: Write, tmp_path: Path
) -> None:
    log = ServerLog(tmp_path / "log")
    config = load_config(
        write_config(odd("s", "slow_init", "delay=0.5", "tools=sleep", f"log={log.path}", more=SHARED))
    )
    async with Bridge(config):
        pass
    async with Bridge(config, wait=False) as bridge:  # the stored tools can be called at once
        assert (await bridge.call("mcp_s_sleep", {"seconds": 3})).text == "slept 3 s"
        assert len(log.running()) == 1
        assert [one.state for one in bridge.status()] == ["ready"]


async def test_a_long_listing_on_a_shared_session_is_not_cut_off_by_its_idle_time(
    write_config: Write, tmp_path: Path
) -> None:
    log = ServerLog(tmp_path / "log")
    entry = odd("s", "slow_list", "delay=2.5", f"log={log.path}", more=SHARED + "\nconnect_timeout = 30")
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
        await asyncio.sleep(0.2)
        await bridge.refresh()
        assert [(one.state, one.last_error) for one in bridge.status()] == [("ready", "")]
        assert log.starts() == 1
        await until(lambda: not log.running())  # and ends by it afterwards
