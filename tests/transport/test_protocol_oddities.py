"""Servers that are near the protocol: unusual handshakes, endless lists, answers under other ids."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge import Bridge, CallTimeout, load_config
from tests.support.entries import Write, odd
from tests.support.server_log import ServerLog
from tests.support.waiting import GENEROUS, until

pytestmark = pytest.mark.usefixtures("no_children_left")
SHARED = 'session = "shared"\n'


@pytest.mark.parametrize(
    "mode",
    [
        *("version_strict", "no_server_info", "no_server_version", "extra_init_keys", "capabilities_null"),
        *("capabilities_empty", "capabilities_true", "strict_fields", "early_messages", "ping_refused", "slow_list"),
        *("id_string", "id_float", "id_last", "jsonrpc_old", "duplicate_answers", "stray_answers", "batch"),
        *("id_null", "id_list", "id_missing", "unknown_notifications", "log_flood", "list_bare", "list_object"),
        *("list_extra", "list_shuffled", "asks_in_list", "list_once"),
    ],
)
async def test_a_server_that_is_near_the_protocol_works(write_config: Write, mode: str) -> None:
    entry = odd("s", mode, more=SHARED + "call_timeout = 60")
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert [(one.state, one.reason) for one in bridge.status()] == [("ready", "")]
        for text in ("汉字", "b"):
            result = await asyncio.wait_for(bridge.call("mcp_s_echo", {"text": text}), GENEROUS)
            assert (result.text, result.is_error) == (text, False)


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("version_missing", "no protocol version"),
        ("version_number", "protocol version 1;"),
        ("init_null", "no protocol version"),
        ("discover_answered", "refused initialize: Method not found: initialize"),
    ],
)
@pytest.mark.usefixtures("quick_retries")
async def test_a_handshake_that_cannot_be_right_is_explained_and_not_repeated(
    write_config: Write, tmp_path: Path, mode: str, said: str
) -> None:
    log = ServerLog(tmp_path / "log")
    async with Bridge(load_config(write_config(odd("s", mode, f"log={log.path}")))) as bridge:
        (status,) = bridge.status()
        assert (status.state, said in status.reason) == ("failed", True), status.reason
        await asyncio.sleep(0.5)
    assert log.starts() == 1


@pytest.mark.parametrize(
    ("mode", "tools", "problem"),
    [
        ("cursor_loop", 2, "its tool list does not end"),
        ("cursor_endless", 400, "its tool list does not end"),
        ("cursor_page_hang", 2, "page 2 of its tool list failed"),
        ("cursor_empty_page", 4, ""),
        ("cursor_overlap", 6, ""),
        ("list_null", 0, "contains no array of tools"),
        ("list_missing", 0, "contains no array of tools"),
    ],
)
async def test_a_tool_list_that_does_not_end_well_gives_what_was_read(
    write_config: Write, caplog: pytest.LogCaptureFixture, mode: str, tools: int, problem: str
) -> None:
    seconds = 1.5 if mode == "cursor_page_hang" else 90
    text = "[mcp]\nmax_tools = 1000\n" + odd("s", mode, more=f"connect_timeout = {seconds}")
    async with Bridge(load_config(write_config(text))) as bridge:
        await until(lambda: bridge.status()[0].state == "ready")
        assert bridge.status()[0].tools == tools
    warned = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert any(problem in line for line in warned) if problem else not [one for one in warned if "does not" in one]


async def test_a_cursor_that_is_a_number_loses_no_page(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "cursor_number")))) as bridge:
        assert [tool.remote_name for tool in bridge.tools()] == ["echo", "pid", "page1_a", "page1_b"]


@pytest.mark.parametrize(
    ("mode", "more", "said"),
    [
        ("asks_sampling", "", '"code": -32601'),
        ("asks_elicitation", "", '"code": -32601'),
        ("asks_elicitation", 'elicitation = "defaults"', '"content": {"city": "Oslo", "days": 3, "mode": "fast"}'),
        ("asks_unknown", "", '"code": -32601'),
        ("asks_malformed", "", '"code": -32601'),
        ("asks_same_id", "", '{"result": {}}'),
        ("asks_string_id", "", '{"result": {}}'),
        ("asks_many", "", "200 of 200"),
    ],
)
async def test_whatever_a_server_asks_it_is_answered(write_config: Write, mode: str, more: str, said: str) -> None:
    async with Bridge(load_config(write_config(odd("s", mode, more=SHARED + more)))) as bridge:
        assert said in (await bridge.call("mcp_s_ask")).text
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"


async def test_a_flood_of_changed_lists_from_a_kept_session_leads_to_few_listings(
    write_config: Write, tmp_path: Path
) -> None:
    log = ServerLog(tmp_path / "log")
    entry = odd("s", "list_changed_flood", f"log={log.path}", more=SHARED)
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
        await asyncio.sleep(1.5)
        assert (await bridge.call("mcp_s_echo", {"text": "y"})).text == "y"
    assert len(log.received("tools/list")) <= 8


@pytest.mark.parametrize("mode", ["cancel_aware", "cancel_error"])
async def test_a_server_that_stops_working_on_demand_is_told_once(
    write_config: Write, tmp_path: Path, mode: str
) -> None:
    log = ServerLog(tmp_path / "log")
    entry = odd("s", mode, "delay=60", f"log={log.path}", more=SHARED + "call_timeout = 0.5")
    async with Bridge(load_config(write_config(entry))) as bridge:
        with pytest.raises(CallTimeout):
            await bridge.call("mcp_s_slow")
        given_up = asyncio.create_task(bridge.call("mcp_s_slow"))
        await until(lambda: len(log.calls("slow")) == 2)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        await until(lambda: len(log.received("notifications/cancelled")) == 2)
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
    asked = [call["id"] for call in log.calls("slow")]
    told: list[Any] = [one["params"]["requestId"] for one in log.received("notifications/cancelled")]
    assert told == asked


async def test_answers_out_of_order_reach_the_calls_they_belong_to(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "reorder", more=SHARED)))) as bridge:
        texts = [f"n{number}" for number in range(6)]
        results = await asyncio.gather(*(bridge.call("mcp_s_late", {"text": text}) for text in texts))
        assert [result.text for result in results] == [f"late:{text}" for text in texts]


async def test_progress_that_makes_no_sense_counts_as_progress(write_config: Write) -> None:
    async with Bridge(
        load_config(write_config(odd("s", "progress_odd", more=SHARED + "call_timeout = 0.9")))
    ) as bridge:
        assert "worked 1.8 s" in (await bridge.call("mcp_s_work", {"seconds": 1.8})).text
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"


async def test_a_failure_told_by_a_notification_ends_at_the_limit_and_not_later(write_config: Write) -> None:
    entry = odd("s", "error_notification", more=SHARED + "call_timeout = 0.5")
    async with Bridge(load_config(write_config(entry))) as bridge:
        with pytest.raises(CallTimeout, match="tool 'lost' of MCP server 's'"):
            await asyncio.wait_for(bridge.call("mcp_s_lost"), GENEROUS)
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"


async def test_only_what_is_really_supported_is_announced(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    async with Bridge(load_config(write_config(odd("s", "normal", f"log={log.path}", more=SHARED)))):
        pass
    params = log.received("initialize")[0]["params"]
    assert params["capabilities"] == {}
    assert params["protocolVersion"] == "2025-11-25"
    assert set(params) == {"protocolVersion", "capabilities", "clientInfo"}
    assert json.dumps(params["clientInfo"])
