"""Messages that leave it in doubt what they mean: no call gets the data or the failure of something else."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable
from typing import Any

import pytest

from mcp_bridge import Bridge, ToolResult, load_config
from mcp_bridge.transport.correlation import Correlator
from mcp_bridge.transport.filter import MessageFilter
from mcp_bridge.transport.framing import encode
from tests.support.entries import Write, odd
from tests.support.scripted_channel import Scripted, dispatcher

pytestmark = pytest.mark.usefixtures("no_children_left")
SHARED = 'session = "shared"\n'


async def said(bridge: Bridge, text: str, seconds: float = 0) -> str:
    return (await bridge.call("mcp_s_say", {"text": text, "seconds": seconds})).text


@pytest.mark.parametrize("more", ["warm = 0", "warm = 1", SHARED])
@pytest.mark.parametrize("error", ["0", "-32601"])
async def test_a_server_that_answers_even_notifications_gives_each_call_its_own_answer(
    write_config: Write, more: str, error: str
) -> None:
    entry = odd("s", "answers_notifications", f"error={error}", more=more)
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert bridge.status()[0].tools == 4
        assert [await said(bridge, text, 0.6) for text in ("A", "B")] == ["A", "B"]


async def test_an_answer_to_a_notification_is_not_taken_for_the_list_of_tools(write_config: Write) -> None:
    entry = odd("s", "answers_notifications", "error=-32601", "list=1")
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert (bridge.status()[0].state, bridge.status()[0].tools) == ("ready", 4)


async def test_the_late_answer_to_a_ping_is_not_taken_for_that_of_a_call(write_config: Write) -> None:
    entry = odd("s", "late_nameless_ping", more="call_timeout = 6")
    async with Bridge(load_config(write_config(entry))) as bridge:
        await said(bridge, "first")
        await asyncio.sleep(1.35)  # the spare has given its ping up, and gets the answer to it during the call
        assert await said(bridge, "second") == "second"


@pytest.mark.parametrize("more", ["warm = 0", "warm = 1", SHARED])
async def test_a_server_that_tells_failures_without_a_name_ends_the_call_that_waits(
    write_config: Write, more: str
) -> None:
    async with Bridge(load_config(write_config(odd("s", "failures_nameless", more=more)))) as bridge:
        for _ in range(2):
            result = await asyncio.wait_for(bridge.call("mcp_s_odd"), 20)
            assert ("it broke" in result.text, result.is_error) == (True, True)


async def test_an_error_of_nobody_does_not_fail_the_call_that_begins_after_it(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "nameless_error_and_answer", more=SHARED)))) as bridge:
        assert (await bridge.call("mcp_s_odd")).text == "odd"
        assert await said(bridge, "B", 0.8) == "B"


@pytest.mark.parametrize(
    "value", ["token_list", "id_nan", "id_infinite", "id_list_nan", "id_deep", "default_nan", "log_deep"]
)
async def test_one_value_that_cannot_be_used_costs_neither_its_call_nor_those_beside_it(
    write_config: Write, value: str
) -> None:
    entry = odd("s", "odd_values", f"value={value}", more=SHARED + 'elicitation = "defaults"')
    async with Bridge(load_config(write_config(entry))) as bridge:
        beside = asyncio.create_task(said(bridge, "A", 0.5))
        await asyncio.sleep(0.1)
        assert (await bridge.call("mcp_s_odd")).text == "odd"
        assert await beside == "A"


@pytest.mark.parametrize("name", [math.nan, math.inf, [math.nan], {"a": [math.inf]}])
def test_a_question_under_an_id_that_cannot_be_said_is_answered_as_well_as_can_be(name: Any) -> None:
    reply = MessageFilter(Correlator()).incoming({"jsonrpc": "2.0", "id": name, "method": "ping"}).reply
    assert reply is not None
    assert b'"result":{}' in encode(reply)


def test_a_default_that_cannot_be_said_is_no_default() -> None:
    schema = {"properties": {"a": {"default": math.nan}, "b": {"default": None}, "c": {"default": [math.inf]}}}
    asked = {"id": 1, "method": "elicitation/create", "params": {"requestedSchema": schema}}
    reply = MessageFilter(Correlator(), elicitation="defaults").incoming(asked).reply
    assert (reply or {})["result"]["content"] == {"b": None, "c": [None]}


@pytest.mark.parametrize("mode", ["deep_answer_in_noise", "deep_error"])
async def test_an_answer_of_hundreds_of_levels_costs_no_other_call(write_config: Write, mode: str) -> None:
    async with Bridge(load_config(write_config(odd("s", mode, more=SHARED)))) as bridge:
        beside = asyncio.create_task(said(bridge, "A", 1))
        await asyncio.sleep(0.1)
        assert await asyncio.wait_for(bridge.call("mcp_s_odd"), 20)
        assert await beside == "A"


async def test_a_fault_of_ours_in_one_message_costs_that_message_and_not_the_session() -> None:
    class Faulty:
        def on_progress(self, request_id: int | None, text: str) -> None: ...

        def on_list_changed(self) -> None: ...

        def on_log(self, level: int, text: str) -> None:
            raise KeyError("a fault")

    note = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}'
    channel = Scripted([note, b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}'], {"right": True})
    async with dispatcher(channel, Faulty()) as sending:
        request = sending.begin("tools/call", {"name": "x"})
        assert await asyncio.wait_for(request.result, 20) == {"right": True}


@pytest.mark.parametrize("bad", ["long", "json"])
async def test_an_answer_that_cannot_be_read_ends_its_own_call_though_it_is_full_of_other_ids(
    write_config: Write, bad: str
) -> None:
    entry = "[mcp]\nmax_message_mib = 1\n" + odd("s", "rows_with_ids", f"bad={bad}", more=SHARED)
    async with Bridge(load_config(write_config(entry))) as bridge:
        beside = asyncio.create_task(said(bridge, "A", 0.9))
        await asyncio.sleep(0.1)
        assert "the server's answer cannot be used" in (await asyncio.wait_for(bridge.call("mcp_s_odd"), 20)).text
        assert await beside == "A"


async def longest_halt(coroutine: Awaitable[ToolResult]) -> tuple[str, float]:
    """Return the text of a result, and for how long at most the loop stood still meanwhile, in seconds."""
    halt, clock = 0.0, time.perf_counter

    async def watch() -> None:
        nonlocal halt
        while True:
            begun = clock()
            await asyncio.sleep(0.01)
            halt = max(halt, clock() - begun - 0.01)

    watching = asyncio.create_task(watch())
    try:
        return (await coroutine).text, halt
    finally:
        watching.cancel()


@pytest.mark.parametrize(
    "words",
    [("pretty_long", "lines=6000"), ("pretty_long", "what=noise", "lines=2000"), ("big_words", "chars=5000000")],
)
async def test_what_a_server_says_on_thousands_of_lines_or_in_a_million_characters_holds_nobody_up(
    write_config: Write, words: tuple[str, ...]
) -> None:
    async with Bridge(load_config(write_config(odd("s", *words, more=SHARED)))) as bridge:
        text, halt = await longest_halt(bridge.call("mcp_s_odd"))
        assert text == "odd"
        assert halt < 1  # 0.05 s measured; 3 to 25 s when each line, or each character, is looked at again


async def test_progress_under_the_token_as_text_extends_the_limit(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "token_text", more="call_timeout = 1.5")))) as bridge:
        assert (await bridge.call("mcp_s_odd")).text == "odd"


@pytest.mark.parametrize(
    ("cursor", "tools", "told"),
    [
        ("2.0", 2, ""),
        ("0", 2, ""),
        ("false", 1, ""),
        ("[]", 1, ""),
        ("true", 1, "has an unusable nextCursor: true"),
        ("NaN", 1, "has an unusable nextCursor: null"),
        ('{"offset":5}', 1, 'has an unusable nextCursor: {"offset": 5}'),
    ],
)
async def test_no_page_of_the_tools_is_lost_unheard_whatever_its_cursor_is(
    write_config: Write, caplog: pytest.LogCaptureFixture, cursor: str, tools: int, told: str
) -> None:
    entry = odd("s", "cursor_odd", f"cursor={cursor}".replace('"', '\\"'))
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert bridge.status()[0].tools == tools
    warned = " ".join(one.getMessage() for one in caplog.records if one.levelno == logging.WARNING)
    assert told in warned
    assert bool(told) == bool(warned)
