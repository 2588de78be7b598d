"""The network is cut, or falls silent, in the middle of an answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mcp_bridge import Bridge, CallTimeout, ServerUnavailable, load_config
from tests.support.entries import Write, odd
from tests.support.remote import at, remote
from tests.support.waiting import GENEROUS

LIMIT = 1


def place(origin: str, path: str, session: str, seconds: float) -> str:
    transport = "sse" if path == "/sse" else "http"
    return at(origin + path, transport=transport, session=session, call_timeout=seconds)


@pytest.mark.parametrize("session", ["fresh", "shared", "chat"])
@pytest.mark.parametrize(("path", "oddity"), [("/mcp", "drop_mid_stream"), ("/sse", "cut_sse")])
async def test_the_connection_is_cut_inside_an_answer_and_the_call_ends_at_once(
    write_config: Write, tmp_path: Path, path: str, oddity: str, session: str
) -> None:
    before = len(asyncio.all_tasks())
    with remote(tmp_path, "normal", f"http={oddity}", "tools=sleep") as server:
        entries = place(server.origin, path, session, 300) + odd("other", "sleep")
        async with Bridge(load_config(write_config(entries))) as bridge:
            beside = asyncio.create_task(bridge.call("mcp_other_sleep", {"seconds": 1}))
            with pytest.raises(ServerUnavailable, match=r"'s'.*\w+"):
                await asyncio.wait_for(bridge.call("mcp_s_echo", {"text": "x"}, chat="qq:group:1"), GENEROUS)
            assert (await bridge.call("mcp_s_echo", {"text": "next"}, chat="qq:group:1")).text == "next"
            assert (await beside).text == "slept 1 s"
            assert len(server.messages("tools/call")) == 1 + (path == "/mcp")  # none was made twice
    assert len(asyncio.all_tasks()) == before


@pytest.mark.parametrize("session", ["fresh", "shared", "chat"])
@pytest.mark.parametrize(("path", "oddity"), [("/mcp", "silent_mid_stream"), ("/sse", "silent_sse")])
async def test_the_network_falls_silent_inside_an_answer_and_the_limit_ends_the_call(
    write_config: Write, tmp_path: Path, path: str, oddity: str, session: str
) -> None:
    before = len(asyncio.all_tasks())
    loop = asyncio.get_running_loop()
    with remote(tmp_path, "normal", f"http={oddity}", "tools=sleep") as server:
        entries = place(server.origin, path, session, LIMIT)
        async with Bridge(load_config(write_config(entries))) as bridge:
            began = loop.time()
            with pytest.raises(CallTimeout, match=f"'s': no answer and no progress for {LIMIT} s"):
                await asyncio.wait_for(bridge.call("mcp_s_echo", {"text": "x"}, chat="qq:group:1"), GENEROUS)
            assert loop.time() - began >= LIMIT
            assert (await bridge.call("mcp_s_echo", {"text": "next"}, chat="qq:group:1")).text == "next"
    assert len(asyncio.all_tasks()) == before


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
async def test_an_answer_in_the_moment_of_the_limit_puts_no_traceback_into_the_log(
    write_config: Write, tmp_path: Path, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with remote(tmp_path, "slow_call", "delay=0.3", "answer=sse") as server:
        entry = place(server.origin, path, "fresh", 0.3)  # limit and answer come together
        async with Bridge(load_config(write_config(entry))) as bridge:
            for _ in range(6):
                calls = [bridge.call("mcp_s_slow") for _ in range(6)]
                for answer in await asyncio.gather(*calls, return_exceptions=True):
                    assert isinstance(answer, CallTimeout) or "slow answer" in getattr(answer, "text", "")
    assert [one.getMessage() for one in caplog.records if one.exc_info or one.levelname == "ERROR"] == []
