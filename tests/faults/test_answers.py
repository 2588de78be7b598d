"""Answers that are somebody else's, or far too large."""

from __future__ import annotations

import asyncio
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge import Bridge, BridgeError, CallTimeout, load_config
from tests.support.entries import Write, odd
from tests.support.remote import at, remote
from tests.support.waiting import GENEROUS

MIB = 2**20


@pytest.mark.parametrize("session", ["fresh", "chat"])
@pytest.mark.parametrize("shift", [-1, 1, 2, -2])
async def test_an_answer_with_the_id_of_another_call_reaches_nobody(
    write_config: Write, session: str, shift: int
) -> None:
    more = f'session = "{session}"\ncall_timeout = 1\nmax_sessions = 4'
    async with Bridge(load_config(write_config(odd("s", "id_of_another", f"shift={shift}", more=more)))) as bridge:
        chats = [f"qq:group:{number}" for number in range(4)]
        calls = [bridge.call("mcp_s_mixed", {"text": chat}, chat=chat) for chat in chats]
        for answer in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(answer, CallTimeout)
            assert "'s': no answer and no progress for 1 s" in str(answer)
        assert (await bridge.call("mcp_s_echo", {"text": "next"}, chat=chats[0])).text == "next"


async def test_an_answer_with_the_id_of_a_call_that_has_ended_reaches_nobody(write_config: Write) -> None:
    more = 'session = "shared"\ncall_timeout = 1'
    async with Bridge(load_config(write_config(odd("s", "id_of_another", more=more)))) as bridge:
        assert (await bridge.call("mcp_s_echo", {"text": "before"})).text == "before"
        beside = asyncio.create_task(bridge.call("mcp_s_pid"))
        with pytest.raises(CallTimeout, match="'s'"):
            await bridge.call("mcp_s_mixed", {"text": "for nobody"})
        assert (await beside).text.isdigit()
        assert (await bridge.call("mcp_s_echo", {"text": "next"})).text == "next"


async def call_beside(bridge: Bridge, count: int) -> None:
    for number in range(count):
        assert (await bridge.call("mcp_s_echo", {"text": str(number)})).text == str(number)


@pytest.mark.parametrize("way", ["stdio", "answer=json", "answer=sse", "/sse"])
async def test_an_answer_of_64_mib_takes_no_more_memory_than_the_limit_and_fails_only_its_call(
    write_config: Write, tmp_path: Path, way: str
) -> None:
    options = () if way in ("stdio", "/sse") else (way,)
    with remote(tmp_path, "big_line", "tools=sleep", *options) as server:
        limits: dict[str, Any] = {"session": "shared", "call_timeout": 300}
        entry = at(server.origin + ("/sse" if way == "/sse" else "/mcp"), **limits)
        if way == "stdio":
            entry = odd("s", "big_line", "tools=sleep", more='session = "shared"\ncall_timeout = 300')
        async with Bridge(load_config(write_config(entry))) as bridge:
            await call_beside(bridge, 2)
            tracemalloc.start()
            try:
                beside = [asyncio.create_task(bridge.call("mcp_s_sleep", {"seconds": 10})) for _ in range(2)]
                big = asyncio.create_task(bridge.call("mcp_s_big", {"size": 64 * MIB}))
                if way != "stdio":  # over a pipe the others wait behind it
                    await call_beside(bridge, 5)
                told = await asyncio.wait_for(big, 5 * GENEROUS)
                now, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert told.is_error
            assert "too long" in told.text or f"{16 * MIB} bytes" in told.text
            assert peak < 3 * 16 * MIB
            assert now < 2 * MIB
            assert [one.text for one in await asyncio.gather(*beside)] == ["slept 10 s"] * 2
            await call_beside(bridge, 2)


@pytest.mark.parametrize("mode", ["id_wrong", "id_of_another"])
async def test_a_remote_server_that_answers_with_a_wrong_id_ends_its_own_call_only(
    write_config: Write, tmp_path: Path, mode: str
) -> None:
    tool = "echo" if mode == "id_wrong" else "mixed"
    with remote(tmp_path, mode, "answer=json") as server:
        entry = at(server.origin + "/mcp", session="shared", call_timeout=2)
        async with Bridge(load_config(write_config(entry))) as bridge:
            calls = [bridge.call(f"mcp_s_{tool}", {"text": str(number)}) for number in range(3)]
            for number, answer in enumerate(await asyncio.gather(*calls, return_exceptions=True)):
                failed = isinstance(answer, BridgeError) or getattr(answer, "is_error", False)
                assert failed or getattr(answer, "text", "") == str(number)  # each POST has its own answer
