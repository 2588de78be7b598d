"""A call that finds no session ready is begun during the handshake, and leaves right behind it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mcp_bridge import Bridge, BridgeError, CallTimeout, ServerUnavailable, load_config
from mcp_bridge.aio import Deadline
from mcp_bridge.errors import NotSent
from mcp_bridge.sessions.requests import ToolRequest
from tests.support.entries import Write, odd
from tests.support.opening import opening
from tests.support.server_log import ServerLog
from tests.support.waiting import GENEROUS, until

pytestmark = pytest.mark.usefixtures("no_children_left")
MODES = (
    *("normal", "slow_init", "split_writes", "one_write", "batch", "duplicate_answers", "jsonrpc_old", "answer_cut"),
    *("id_string", "id_float", "id_null", "id_wrong", "id_missing", "id_list", "id_last", "stray_answers"),
    *("stdout_banner", "noise_before", "bom", "content_length", "pretty_printed", "torn_message", "early_messages"),
    *("asks_ping", "asks_roots", "takes_roots", "asks_sampling", "asks_same_id", "strict_handshake", "strict_fields"),
    *("version_old", "version_strict", "no_server_info", "extra_init_keys", "capabilities_null", "exit_after_call"),
)
LIMITS = Deadline(GENEROUS, GENEROUS)
PIPE_BYTES = 32 * 1024
"""Less than any pipe accepts without a reader."""
SHORT = Deadline(0.5, 0.5)


async def answers(file: Path, tool: str) -> dict[str, str]:
    """Return what the tool of every server answers to the first call."""
    async with Bridge(load_config(file)) as bridge:

        async def answer(server: str) -> str:
            try:
                return (await bridge.call(f"mcp_{server}_{tool}", {"text": "x"})).text
            except BridgeError as error:
                return error.message

        names = [status.name for status in bridge.status()]
        return dict(zip(names, await asyncio.gather(*map(answer, names)), strict=True))


async def test_every_server_answers_it_as_it_would_on_a_session_that_was_ready(write_config: Write) -> None:
    more = "connect_timeout = 20\ncall_timeout = 3\n"
    cold = write_config("".join(odd(mode, mode, more=f"{more}warm = 0") for mode in MODES))
    found = await answers(cold, "echo")
    warm = write_config("".join(odd(mode, mode, more=more) for mode in MODES))
    assert found == await answers(warm, "echo")
    assert list(found.values()).count("x") > len(MODES) * 2 / 3


async def test_nothing_comes_between_the_handshake_and_the_call(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    async with Bridge(load_config(write_config(odd("s", "normal", f"log={log.path}", more="warm = 0")))) as bridge:
        for text in ("one", "two"):
            before = len(log.received())
            assert (await bridge.call("mcp_s_echo", {"text": text})).text == text
            methods = [message["method"] for message in log.received()[before:]]
            assert methods == ["initialize", "notifications/initialized", "tools/call"]


@pytest.mark.parametrize("mode", ["id_null", "id_missing", "id_list"])
async def test_an_answer_without_an_id_is_not_taken_for_its_own(write_config: Write, mode: str) -> None:
    more = "warm = 0\nconnect_timeout = 5"
    async with Bridge(load_config(write_config(odd("s", mode, "on=*", more=more)))) as bridge:
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"


@pytest.mark.parametrize("size", [PIPE_BYTES - 500, PIPE_BYTES + 1, 40 * PIPE_BYTES])
async def test_a_call_of_any_size_arrives_whole(write_config: Write, size: int) -> None:
    text = "x" * size
    more = f"warm = 0\nmax_result_chars = {2 * size}"
    async with Bridge(load_config(write_config(odd("s", "normal", more=more)))) as bridge:
        assert (await bridge.call("mcp_s_echo", {"text": text})).text == text


@pytest.mark.parametrize("size", [1, 40 * PIPE_BYTES])
async def test_a_server_that_does_not_read_it_is_not_blamed_for_the_handshake(write_config: Write, size: int) -> None:
    call = ToolRequest("echo", {"text": "x" * size})
    async with opening(write_config(odd("s", "stop_reading_early")), call) as session:
        await session.wait_ready(GENEROUS)
        with pytest.raises(CallTimeout):
            await session.call_tool(call, SHORT)


async def test_one_cancelled_during_the_handshake_never_reaches_the_server(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    file = write_config(odd("s", "slow_init", f"log={log.path}", "delay=0.5"))
    async with opening(file, ToolRequest("echo", {"text": "x"})) as session:
        waiting = asyncio.create_task(session.wait_ready(GENEROUS))
        await until(lambda: bool(log.received("initialize")))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.wait({session.owner})
    assert [message["method"] for message in log.received()] == ["initialize"]


async def test_of_one_cancelled_when_it_has_just_left_the_server_is_told(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    file = write_config(odd("s", "slow_call", f"log={log.path}"))
    async with opening(file, ToolRequest("slow", {})) as session:
        waiting = asyncio.create_task(session.wait_ready(GENEROUS))
        await asyncio.sleep(0)
        session._ready._outcome.add_done_callback(lambda ready: waiting.cancel())
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.wait({session.owner})
    (call,) = log.calls("slow")
    (cancelled,) = log.received("notifications/cancelled")
    assert cancelled["params"]["requestId"] == call["id"]


@pytest.mark.parametrize("mode", ["version_future", "init_refused", "exit_at_once", "hang_init"])
async def test_without_a_handshake_it_does_not_leave(write_config: Write, tmp_path: Path, mode: str) -> None:
    log = ServerLog(tmp_path / "log")
    async with opening(write_config(odd("s", mode, f"log={log.path}")), ToolRequest("echo", {"text": "x"})) as session:
        with pytest.raises(ServerUnavailable):
            await session.wait_ready(2)
        await asyncio.wait({session.owner})
    assert log.received("tools/call") == []


async def test_one_that_may_have_run_is_not_taken_for_one_that_never_left(write_config: Write) -> None:
    call = ToolRequest("crash", {})
    async with opening(write_config(odd("s", "crash_call")), call) as session:
        await session.wait_ready(GENEROUS)
        with pytest.raises(ServerUnavailable, match="the server stopped during tools/call") as caught:
            await session.call_tool(call, LIMITS)
        assert not isinstance(caught.value, NotSent)


async def test_where_the_server_asks_for_folders_it_waits_for_them(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    more = f'warm = 0\nroots = ["{tmp_path.as_uri()}"]'
    async with Bridge(load_config(write_config(odd("s", "takes_roots", f"log={log.path}", more=more)))) as bridge:
        before = len(log.received())
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
    said = [message.get("method", "answer") for message in log.received()[before:]]
    assert said.index("answer") < said.index("tools/call")
