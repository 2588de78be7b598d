"""Which session a call gets, and what becomes of sessions nobody uses."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from mcp_bridge import Bridge, CallTimeout, ServerUnavailable, load_config
from mcp_bridge.connection import PING_SECONDS, Connection
from mcp_bridge.process.server_process import ServerProcess
from mcp_bridge.stdio import StdioChannel
from mcp_bridge.wire.filter import MessageFilter
from mcp_bridge.wire.framing import Broken, Message

from .cases.server_log import ServerLog
from .conftest import GENEROUS, alive, children, odd, until

Write = Callable[[str], Path]
pytestmark = pytest.mark.usefixtures("no_children_left")


def starts(log: Path) -> list[int]:
    """Return the process ids of all servers started so far, in order."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [event["pid"] for event in map(json.loads, lines) if event["event"] == "start"]


def running(log: Path) -> int:
    return sum(map(alive, starts(log)))


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


async def test_a_shared_session_keeps_its_count(write_config: Write, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with Bridge(load_config(write_config(odd("s", "count", f"log={log}", more='session = "shared"')))) as bridge:
        counts = [(await bridge.call("mcp_s_count", chat=f"qq:group:{n}")).text for n in range(3)]
        assert counts == ["1", "2", "3"]
        assert len(starts(log)) == 1


async def test_two_chats_never_see_each_others_state(write_config: Write, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with Bridge(load_config(write_config(odd("s", "count", f"log={log}", more='session = "chat"')))) as bridge:
        for expected in ("1", "2"):
            for chat in ("qq:group:1", "qq:group:2", None):
                assert (await bridge.call("mcp_s_count", chat=chat)).text == expected
        await until(lambda: running(log) == 3)


async def test_idle_chats_give_way_to_others_and_end_by_themselves(write_config: Write, tmp_path: Path) -> None:
    log = tmp_path / "log"
    more = 'session = "chat"\nmax_sessions = 2\nidle_timeout = 1'
    async with Bridge(load_config(write_config(odd("s", "count", f"log={log}", more=more)))) as bridge:
        for chat in range(4):
            assert (await bridge.call("mcp_s_count", chat=f"qq:group:{chat}")).text == "1"
            assert running(log) <= 2
        await until(lambda: running(log) == 0)


async def test_a_dead_shared_server_comes_back_as_one_process(write_config: Write, tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = load_config(write_config(odd("s", "exit_mid_call", f"log={log}", more='session = "shared"')))
    async with Bridge(config) as bridge:
        first = (await bridge.call("mcp_s_pid")).text
        with pytest.raises(ServerUnavailable, match="SIGKILL"):
            await bridge.call("mcp_s_die")
        again = [(await bridge.call("mcp_s_pid")).text for _ in range(2)]
        assert again[0] == again[1] != first
        assert {tool.remote_name for tool in bridge.tools()} >= {"echo", "pid", "die"}
        await until(lambda: running(log) == 1)


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
    monkeypatch.setattr("mcp_bridge.server.FIRST_RETRY_SECONDS", 0.05)
    monkeypatch.setattr("mcp_bridge.server.MAX_ATTEMPTS", 4)
    monkeypatch.setattr("mcp_bridge.server.PARKED_SECONDS", 3)
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
    monkeypatch.setattr("mcp_bridge.server.FIRST_RETRY_SECONDS", 0.05)
    changes: list[int] = []
    config = load_config(write_config(odd("s", "flaky_start", f"state={tmp_path / 'state'}", "fails=2")))
    async with Bridge(config, on_change=lambda: changes.append(1)) as bridge:
        await until(lambda: bridge.status()[0].state == "ready")
        assert len(bridge.tools()) == 2
    assert changes == [1]


async def test_a_timed_out_call_of_a_shared_session_leaves_the_calls_beside_it_alone(write_config: Write) -> None:
    more = 'session = "shared"\ncall_timeout = 1.5'
    async with Bridge(load_config(write_config(odd("s", "never_call", "tools=sleep", more=more)))) as bridge:
        stuck = asyncio.create_task(bridge.call("mcp_s_never"))
        await asyncio.sleep(0.7)
        beside = asyncio.create_task(bridge.call("mcp_s_sleep", {"seconds": 1.2}))
        with pytest.raises(CallTimeout):
            await stuck
        assert "slept" in (await beside).text
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"


@pytest.mark.parametrize("steps", range(6))
async def test_a_call_cancelled_just_when_its_answer_comes_costs_the_calls_beside_it_nothing(
    write_config: Write, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """The SDK 1.x stops reading, without a word, if it cannot hand an answer over (seen under load)."""
    receive = StdioChannel.receive
    short: asyncio.Task[Any] | None = None

    async def cancel_and_receive(channel: StdioChannel) -> Message | Broken | None:
        message = await receive(channel)
        if isinstance(message, dict) and "short" in str(message.get("result")) and short is not None:
            short.cancel()
            for _ in range(steps):
                await asyncio.sleep(0)
        return message

    monkeypatch.setattr(StdioChannel, "receive", cancel_and_receive)
    async with Bridge(
        load_config(write_config(odd("s", "never_call", "tools=sleep", more='session = "shared"')))
    ) as bridge:
        beside = asyncio.create_task(bridge.call("mcp_s_sleep", {"seconds": 1}))
        await asyncio.sleep(0.2)
        short = asyncio.create_task(bridge.call("mcp_s_echo", {"text": "short"}))
        await asyncio.wait({short}, timeout=GENEROUS)
        assert not beside.done()
        assert "slept" in (await asyncio.wait_for(beside, GENEROUS)).text


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
        await asyncio.sleep(3)
        assert len(bridge.tools()) == 2
        listed = log.read_text().count('"method": "tools/list"')
    assert listed <= 8  # pauses double: 0.3, 0.6, 1.2, ...


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


async def test_a_thousand_calls_leave_nothing_behind(write_config: Write, tmp_path: Path) -> None:
    """Calls, cancelled ones and stubborn servers: afterwards all is as before."""
    entries = odd("s", "sleep", more="max_sessions = 6") + odd("eof", "ignore_eof") + odd("child", "grandchild")
    config = load_config(write_config(entries))

    def resources() -> tuple[int, list[str], int, set[int]]:
        # The loop's own worker threads are counted by nobody: they grow in number up to a limit.
        threads = [thread.name for thread in threading.enumerate() if not thread.name.startswith("asyncio_")]
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


async def test_what_belonged_to_a_session_goes_with_it_and_does_not_wait_for_the_collector(
    write_config: Write, tmp_path: Path
) -> None:
    """A full collection is rare in a bot: a hundred dead sessions would be kept until then."""
    kinds = (Connection, StdioChannel, ServerProcess, MessageFilter)
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
