"""Which session a call gets, and what becomes of sessions nobody uses."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from mcp_bridge import Bridge, ServerUnavailable, load_config
from mcp_bridge.sessions.session import PING_SECONDS
from tests.support.entries import Write, odd
from tests.support.processes import alive
from tests.support.server_log import ServerLog, running, starts
from tests.support.waiting import GENEROUS, until

pytestmark = pytest.mark.usefixtures("no_children_left")


def wait_dead(pid: int) -> None:
    deadline = time.monotonic() + GENEROUS
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.001)


async def test_a_spare_waits_ready_and_serves_one_call_only(write_config: Write, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with Bridge(load_config(write_config(odd("s", "count", f"log={log}")))) as bridge:
        assert len(starts(log)) == 1  # the session that listed the tools is the first spare
        for _ in range(3):
            await until(lambda: running(log) == 1)
            (spare,) = [pid for pid in starts(log) if alive(pid)]
            await asyncio.sleep(0.2)
            assert (await bridge.call("mcp_s_count")).text == "1"
            await until(lambda pid=spare: not alive(pid))  # type: ignore[misc]
            assert starts(log).count(spare) == 1
    assert running(log) == 0


@pytest.mark.parametrize(("warm", "expected"), [(0, 0), (3, 3)])
async def test_as_many_spares_wait_as_the_owner_wants(
    write_config: Write, tmp_path: Path, warm: int, expected: int
) -> None:
    log = tmp_path / "log"
    config = load_config(write_config(odd("s", "normal", f"log={log}", more=f"warm = {warm}")))
    async with Bridge(config) as bridge:
        await bridge.call("mcp_s_pid")
        await until(lambda: running(log) == expected)
        await asyncio.sleep(0.5)
        assert running(log) == expected


async def test_spares_of_all_servers_together_are_limited(write_config: Write, tmp_path: Path) -> None:
    log = tmp_path / "log"
    entries = "".join(odd(f"s{n}", "normal", f"log={log}") for n in range(6))
    async with Bridge(load_config(write_config("[mcp]\nmax_spares = 2\n" + entries))) as bridge:
        await until(lambda: running(log) == 2)
        assert (await bridge.call("mcp_s5_echo", {"text": "x"})).text == "x"
        await until(lambda: running(log) == 2 and len(starts(log)) >= 7)
        await asyncio.sleep(0.5)
        assert running(log) == 2


async def test_a_spare_has_answered_before_it_is_needed(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    async with Bridge(load_config(write_config(odd("s", "normal", f"log={log.path}")))) as bridge:
        await bridge.call("mcp_s_pid")  # on the session that listed the tools
        await until(lambda: len(log.received("ping")) == 1)
        assert len(log.calls("pid")) == 1


async def test_a_server_that_knows_no_ping_is_kept_ready_and_told_of_no_cancellation(
    write_config: Write, tmp_path: Path
) -> None:
    log = ServerLog(tmp_path / "log")
    async with Bridge(load_config(write_config(odd("s", "ping_silent", f"log={log.path}")))) as bridge:
        await bridge.call("mcp_s_pid")
        await until(lambda: len(log.received("ping")) == 1)
        await asyncio.sleep(PING_SECONDS + 0.5)
        assert (await bridge.call("mcp_s_pid")).text == str(starts(log.path)[1])  # the spare, not a third process
    assert log.received("notifications/cancelled") == []


async def test_a_spare_that_nobody_uses_ends(write_config: Write, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with Bridge(load_config(write_config(odd("s", "normal", f"log={log}", more="idle_timeout = 0.5")))) as bridge:
        await until(lambda: running(log) == 0)
        await asyncio.sleep(0.5)
        assert running(log) == 0  # and is not replaced until somebody calls
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"


async def test_a_spare_that_died_costs_no_call(write_config: Write, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with Bridge(load_config(write_config(odd("s", "normal", f"log={log}")))) as bridge:
        answered: set[int] = set()

        def spare_is_there() -> bool:
            return any(alive(pid) for pid in starts(log) if pid not in answered)

        for _ in range(3):
            await until(spare_is_there)  # after calls that found none there may be more
            await asyncio.sleep(0.1)
            for pid in [pid for pid in starts(log) if alive(pid)]:
                os.kill(pid, 9)
                await asyncio.to_thread(wait_dead, pid)  # on a thread: our loop has not looked yet
            answered.add(int((await bridge.call("mcp_s_pid")).text))
        await until(spare_is_there)


async def test_a_burst_is_served_side_by_side_within_the_limit(write_config: Write, tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = load_config(write_config(odd("s", "sleep", f"log={log}", more="max_sessions = 3")))
    most = 0

    async def watch() -> None:
        nonlocal most
        while True:
            most = max(most, running(log))
            await asyncio.sleep(0.02)

    async with Bridge(config) as bridge:
        watcher = asyncio.create_task(watch())
        results = await asyncio.gather(*(bridge.call("mcp_s_sleep", {"seconds": 0.2}) for _ in range(8)))
        assert all("slept" in result.text for result in results)
        watcher.cancel()
    assert most <= 3


async def test_one_session_at_a_time_is_honoured(write_config: Write) -> None:
    config = load_config(write_config(odd("s", "normal", more="max_sessions = 1")))
    async with Bridge(config) as bridge:
        pids = [(await bridge.call("mcp_s_pid")).text for _ in range(3)]
        assert len(set(pids)) == 3
        await bridge.refresh()
        assert bridge.status()[0].state == "ready"


async def test_a_server_that_exits_after_each_call_costs_no_call(write_config: Write) -> None:
    for session in ("shared", "fresh"):
        config = load_config(write_config(odd("s", "exit_after_call", more=f'session = "{session}"')))
        async with Bridge(config) as bridge:
            for _ in range(3):
                assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
                await asyncio.sleep(0.3)


async def test_a_server_that_dies_at_each_start_is_parked_with_its_reason_and_comes_back(
    write_config: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_bridge.bridge.server.FIRST_RETRY_SECONDS", 0.05)
    monkeypatch.setattr("mcp_bridge.bridge.server.MAX_ATTEMPTS", 4)
    monkeypatch.setattr("mcp_bridge.bridge.server.PARKED_SECONDS", 3)
    state, log = tmp_path / "state", tmp_path / "log"
    entries = odd("s", "flaky_start", f"state={state}", "fails=4", f"log={log}")
    async with Bridge(load_config(write_config(entries)), wait=False) as bridge:
        await until(lambda: bridge.status()[0].state == "failed")
        assert "parked after 4 failed starts" in bridge.status()[0].reason
        assert "port is taken" in bridge.status()[0].reason
        with pytest.raises(ServerUnavailable, match="port is taken"):
            await bridge.call("mcp_s_echo", {"text": "x"})
        assert len(starts(log)) == 4  # it is not started by each call
        await until(lambda: bridge.status()[0].state == "ready")
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"


async def test_a_timed_out_start_is_tried_again_and_the_tools_appear(
    write_config: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_bridge.bridge.server.FIRST_RETRY_SECONDS", 0.05)
    changes: list[int] = []
    config = load_config(write_config(odd("s", "flaky_start", f"state={tmp_path / 'state'}", "fails=2")))
    async with Bridge(config, on_change=lambda: changes.append(1)) as bridge:
        await until(lambda: bridge.status()[0].state == "ready")
        assert len(bridge.tools()) == 2
    assert changes == [1]


async def test_tools_that_a_shared_server_adds_and_removes_are_followed(write_config: Write) -> None:
    config = load_config(write_config(odd("s", "list_changed", more='session = "shared"')))
    async with Bridge(config) as bridge:
        await bridge.call("mcp_s_grow")
        await until(lambda: "mcp_s_grown1" in [tool.name for tool in bridge.tools()])
        assert "grown1" in (await bridge.call("mcp_s_grown1")).text
        await bridge.call("mcp_s_shrink")
        await until(lambda: "mcp_s_grown1" not in [tool.name for tool in bridge.tools()])
        with pytest.raises(Exception, match="no longer available"):
            await bridge.call("mcp_s_grown1")


async def test_a_storm_of_list_changes_leads_to_few_listings(write_config: Write, tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = load_config(write_config(odd("s", "list_changed_flood", f"log={log}")))
    async with Bridge(config) as bridge:
        await asyncio.sleep(1.5)
        assert len(bridge.tools()) == 2
        listed = log.read_text().count('"method": "tools/list"')
    assert listed <= 6  # pauses double: 0.3, 0.6, 1.2, ...


@pytest.mark.process
async def test_first_starts_by_a_launcher_happen_one_after_the_other(write_config: Write, tmp_path: Path) -> None:
    launcher = tmp_path / "npx"
    launcher.write_text('#!/bin/sh\nexec "$@"\n')
    launcher.chmod(0o755)
    log = tmp_path / "log"
    entries = "".join(
        odd(f"s{n}", "slow_init", "delay=1", f"log={log}").replace('command = "{python}"', f'command = "{launcher}"')
        for n in range(2)
    ).replace('args = ["{odd}"', 'args = ["{python}", "{odd}"')
    async with Bridge(load_config(write_config(entries)), wait=False) as bridge:
        await until(lambda: len(starts(log)) == 1)
        await until(lambda: any("waiting for the first start" in one.reason for one in bridge.status()))
        assert len(starts(log)) == 1
        await until(lambda: all(one.state == "ready" for one in bridge.status()))
