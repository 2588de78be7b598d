"""Sessions that are kept: what they keep, who gives way to whom, and how often a server is started."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from mcp_bridge import Bridge, CallTimeout, ServerUnavailable, load_config
from mcp_bridge.config.server_config import ServerConfig
from mcp_bridge.sessions.pool import SessionPool
from mcp_bridge.sessions.session import Session
from mcp_bridge.transport.framing import Message, UnreadableAnswer
from mcp_bridge.transport.stdio.channel import StdioChannel
from tests.support.entries import Write, odd
from tests.support.server_log import ServerLog, running, starts
from tests.support.waiting import GENEROUS, until

pytestmark = pytest.mark.usefixtures("no_children_left")
CHAT = 'session = "chat"\n'


async def test_chats_that_wait_get_the_place_of_one_that_has_become_idle(write_config: Write) -> None:
    entry = odd("s", "normal", more=CHAT + "max_sessions = 3\nconnect_timeout = 25")
    async with Bridge(load_config(write_config(entry))) as bridge:
        calls = (bridge.call("mcp_s_pid", chat=f"qq:group:{number}") for number in range(7))
        results = await asyncio.wait_for(asyncio.gather(*calls), 20)
        assert len({result.text for result in results}) == 7


async def test_a_chat_that_waits_is_served_when_the_calls_of_the_other_are_done(write_config: Write) -> None:
    entry = odd("s", "normal", "tools=sleep", more=CHAT + "max_sessions = 1\nconnect_timeout = 25")
    async with Bridge(load_config(write_config(entry))) as bridge:
        calls = (bridge.call("mcp_s_sleep", {"seconds": 1}, chat="qq:group:1") for _ in range(3))
        busy = [asyncio.create_task(call) for call in calls]
        await asyncio.sleep(0.3)
        other = await asyncio.wait_for(bridge.call("mcp_s_pid", chat="qq:group:2"), 20)
        assert other.text.isdecimal()
        assert [(await call).text for call in busy] == ["slept 1 s"] * 3


async def test_no_more_chats_lose_their_session_than_others_wait_for_one(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    entry = odd("s", "normal", f"log={log.path}", "tools=sleep", more=CHAT + "max_sessions = 3\nconnect_timeout = 25")
    async with Bridge(load_config(write_config(entry))) as bridge:
        listed = log.starts()
        calls = (bridge.call("mcp_s_sleep", {"seconds": 1}, chat=f"qq:group:{number}") for number in range(3))
        busy = [asyncio.create_task(call) for call in calls]
        await until(lambda: len(log.calls("sleep")) == 3)
        assert (await bridge.call("mcp_s_pid", chat="qq:group:9")).text.isdecimal()
        await asyncio.gather(*busy)
        await asyncio.sleep(0.3)
        assert len(log.running()) == 3
        assert log.starts() == listed + 4


@pytest.mark.parametrize("session", ["shared", "chat"])
async def test_a_server_that_dies_at_each_start_is_not_started_by_each_call(
    write_config: Write, tmp_path: Path, session: str
) -> None:
    log, broken = ServerLog(tmp_path / "log"), tmp_path / "broken"
    entry = odd("s", "breaks_later", f"log={log.path}", f"while={broken}", more=f'session = "{session}"')
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert (await bridge.call("mcp_s_say", {"text": "x"}, chat="qq:group:1")).text == "x"
        broken.touch()
        with pytest.raises(ServerUnavailable):
            await bridge.call("mcp_s_odd", chat="qq:group:1")
        before, reasons = log.starts(), []
        for number in range(20):
            with pytest.raises(ServerUnavailable) as caught:
                await bridge.call("mcp_s_say", {"text": "x"}, chat=f"qq:group:{number}")
            reasons.append(caught.value.message)
        assert log.starts() - before <= 6  # by calls after growing pauses, and beside them by the listing
        told = [re.search(r"stopped during initialize .*\(next start in \d+ s\)", reason) for reason in reasons]
        assert len(list(filter(None, told))) >= 14
        broken.unlink()
        deadline = asyncio.get_running_loop().time() + GENEROUS
        while True:
            try:
                assert (await bridge.call("mcp_s_say", {"text": "y"}, chat="qq:group:1")).text == "y"
                break
            except ServerUnavailable:
                assert asyncio.get_running_loop().time() < deadline
                await asyncio.sleep(0.1)


@pytest.mark.parametrize("session", ["fresh", "shared", "chat"])
async def test_a_listing_for_which_no_session_is_free_says_nothing_against_the_server(
    write_config: Write, caplog: pytest.LogCaptureFixture, session: str
) -> None:
    more = f'session = "{session}"\nmax_sessions = 1\nconnect_timeout = 1'
    async with Bridge(load_config(write_config(odd("s", "normal", "tools=sleep", more=more)))) as bridge:
        busy = asyncio.create_task(bridge.call("mcp_s_sleep", {"seconds": 2}, chat="qq:group:1"))
        await asyncio.sleep(0.2)
        await bridge.refresh()
        status = bridge.status()[0]
        assert (status.state, status.reason, status.tools, status.last_error) == ("ready", "", 3, "")
        assert (await asyncio.wait_for(busy, GENEROUS)).text == "slept 2 s"
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING] == []


async def test_a_call_for_which_no_place_is_free_is_no_failed_start_of_the_server(write_config: Write) -> None:
    more = CHAT + "max_sessions = 1\nconnect_timeout = 1"
    async with Bridge(load_config(write_config(odd("s", "normal", "tools=sleep", more=more)))) as bridge:
        busy = asyncio.create_task(bridge.call("mcp_s_sleep", {"seconds": 2}, chat="qq:group:1"))
        await asyncio.sleep(0.2)
        with pytest.raises(ServerUnavailable, match=r"all 1 sessions are busy"):
            await bridge.call("mcp_s_pid", chat="qq:group:2")
        assert (await busy).text == "slept 2 s"
        assert (await bridge.call("mcp_s_pid", chat="qq:group:2")).text.isdecimal()


@dataclass(eq=False)
class FakeSession:
    """As much of a session as its pool looks at."""

    closing: bool
    lost: bool = False


@pytest.mark.parametrize(
    ("waiting", "live", "ending", "wanted"),
    [
        (1, 3, 0, True),
        (1, 3, 1, False),
        (2, 3, 1, True),
        (1, 2, 0, False),  # a session has just gone: whoever waits has been told, and has not taken its place yet
        (2, 2, 0, True),
        (0, 3, 0, False),
    ],
)
def test_room_is_made_for_those_alone_who_will_get_none_otherwise(
    waiting: int, live: int, ending: int, wanted: bool
) -> None:
    def unused() -> Any:
        raise AssertionError

    pool = SessionPool(ServerConfig("s", max_sessions=3), unused)
    pool.waiting = waiting
    for number in range(live):
        pool._live.add(cast(Session, FakeSession(number < ending)))
    assert pool.wants_room() is wanted


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

    async def cancel_and_receive(channel: StdioChannel) -> Message | UnreadableAnswer | None:
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
