"""Handshakes, lists and what servers ask of their client: what people saw, and what is right."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge import Bridge, CallTimeout, ToolNotFound, load_config
from tests.support.entries import Write, odd
from tests.support.server_log import ServerLog
from tests.support.waiting import GENEROUS, until

pytestmark = pytest.mark.usefixtures("no_children_left")
SHARED = 'session = "shared"\n'


def names(bridge: Bridge, server: str = "s") -> list[str]:
    return [tool.remote_name for tool in bridge.tools() if tool.server == server]


async def test_the_tools_of_all_pages_are_there_and_a_lost_page_is_reported(
    write_config: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log, log_of_empty = ServerLog(tmp_path / "log"), ServerLog(tmp_path / "log2")
    entries = odd("p", "paginate", f"log={log.path}") + odd("e", "cursor_page_error")
    entries += odd("empty", "empty_cursor", f"log={log_of_empty.path}", more=SHARED)
    async with Bridge(load_config(write_config(entries))) as bridge:
        assert names(bridge, "p") == ["echo", "pid", "page1_a", "page1_b", "page2_a", "page2_b"]
        for tool in ("page1_a", "page1_b", "page2_a", "page2_b"):
            assert (await bridge.call(f"mcp_p_{tool}")).text == f"called:{tool}"
        assert names(bridge, "e") == ["echo", "pid"]
        assert (await bridge.call("mcp_e_echo", {"text": "x"})).text == "x"
        await bridge.refresh()  # the second list of `empty` ends with null
        assert names(bridge, "empty") == ["echo", "pid"]
    cursors = [one.get("params", {}).get("cursor") for one in log.received("tools/list")]
    assert cursors[:3] == [None, "cDox", "cDoy"]
    assert len(log_of_empty.received("tools/list")) == 2
    assert "'e': page 2 of its tool list failed, the earlier ones are used: page cache lost" in caplog.text


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize(("mode", "asked"), [("no_tools_capability", 0), ("no_tools_unannounced", 1)])
async def test_a_server_without_tools_is_connected_and_not_an_error(
    write_config: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: str, asked: int
) -> None:
    caplog.set_level(logging.INFO, "mcp_bridge")
    log = ServerLog(tmp_path / "log")
    async with Bridge(load_config(write_config(odd("s", mode, f"log={log.path}", more=SHARED)))) as bridge:
        (status,) = bridge.status()
        assert (status.state, status.reason, status.tools) == ("ready", "", 0)
        await asyncio.sleep(0.5)  # longer than the first retry
    assert len(log.received("tools/list")) == asked
    assert log.starts() == 1
    assert [one.levelname for one in caplog.records if one.levelno > logging.INFO] == []
    assert "'s' is ready with 0 tools" in caplog.text


async def test_a_tool_list_that_fails_is_a_reason_and_not_an_empty_list(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "list_error")))) as bridge:
        (status,) = bridge.status()
        assert (status.state, status.tools) == ("retrying", 0)
        assert "tool registry is not available" in status.reason


@pytest.mark.parametrize("announced", [True, False])
async def test_a_server_that_asks_for_roots_gets_one_answer_each_time(
    write_config: Write, tmp_path: Path, announced: bool
) -> None:
    log = ServerLog(tmp_path / "log")
    more = SHARED + ('roots = ["file:///srv/data"]' if announced else "")
    async with Bridge(load_config(write_config(odd("s", "asks_roots", f"log={log.path}", more=more)))) as bridge:
        assert [one.state for one in bridge.status()] == ["ready"]
        answer = json.loads((await bridge.call("mcp_s_ask")).text)  # else it says "no answer" after 5 s
    if announced:
        assert answer == {"result": {"roots": [{"uri": "file:///srv/data"}]}}
    else:
        assert answer["error"]["code"] == -32601
    capabilities = log.received("initialize")[0]["params"]["capabilities"]
    assert ("roots" in capabilities) == announced
    answers = [one["id"] for one in log.received() if "method" not in one]
    assert sorted(answers) == [1001, 1002]
    (ready,) = [one for one in log.events("recv") if one["message"].get("method") == "notifications/initialized"]
    assert log.events("answered")[0]["time"] - ready["time"] < 5


async def test_pings_are_answered_while_a_tool_is_running(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    entry = odd("s", "asks_ping", "tools=sleep", "period=0.1", f"log={log.path}", more=SHARED)
    async with Bridge(load_config(write_config(entry))) as bridge:
        pid = (await bridge.call("mcp_s_pid")).text
        assert (await bridge.call("mcp_s_sleep", {"seconds": 1})).text == "slept 1 s"
        assert (await bridge.call("mcp_s_pid")).text == pid
        answers = [one for one in log.received() if "method" not in one]
        assert len(answers) >= 5
        assert all(one["result"] == {} for one in answers)
        assert log.events("exit") == []


@pytest.mark.parametrize("session", ["shared", "fresh"])
async def test_tools_that_a_server_adds_later_are_offered_and_callable(
    write_config: Write, tmp_path: Path, session: str
) -> None:
    changes: list[int] = []
    entry = odd("s", "list_changed", f"state={tmp_path / 'state'}", more=f'session = "{session}"')
    async with Bridge(load_config(write_config(entry)), on_change=lambda: changes.append(1)) as bridge:
        await bridge.call("mcp_s_grow")
        await until(lambda: "grown1" in names(bridge), 10)
        assert (await bridge.call("mcp_s_grown1")).text == "called:grown1"
        await bridge.call("mcp_s_edit")
        await until(lambda: any("edit 1" in tool.description for tool in bridge.tools()), 10)
        echo = next(tool for tool in bridge.tools() if tool.remote_name == "echo")
        assert set(echo.input_schema["properties"]) == {"text", "message"}
        await bridge.call("mcp_s_shrink")
        await until(lambda: "grown1" not in names(bridge), 10)
        with pytest.raises(ToolNotFound, match="'mcp_s_grown1' is no longer available") as caught:
            await bridge.call("mcp_s_grown1")
        assert caught.value.server == "s"
        assert len(changes) >= 3


async def test_a_tool_that_reports_progress_is_told_how_and_is_not_cut(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    entries = odd("ok", "progress_then_result", f"log={log.path}", more="call_timeout = 0.9")
    entries += odd("endless", "progress_endless", more="call_timeout = 0.9\nmax_call_time = 1.8")
    entries += odd("stranger", "progress_wrong_token", more="call_timeout = 0.9")
    loop = asyncio.get_running_loop()
    async with Bridge(load_config(write_config(entries))) as bridge:
        result = await bridge.call("mcp_ok_work", {"seconds": 1.8})
        (call,) = log.calls("work")
        token = call["params"]["_meta"]["progressToken"]
        assert result.text == f"worked 1.8 s, token={token!r}"
        assert token is not None
        started = loop.time()
        with pytest.raises(CallTimeout, match=r"'endless': not done after 1\.8 s in all"):
            await bridge.call("mcp_endless_work")
        assert loop.time() - started >= 1.8
        with pytest.raises(CallTimeout, match=r"'stranger': no answer and no progress for 0\.9 s"):
            await bridge.call("mcp_stranger_work", {"seconds": 2})


@pytest.mark.parametrize("session", ["shared", "fresh"])
async def test_each_server_has_its_own_limit_and_a_late_answer_harms_nobody(
    write_config: Write, tmp_path: Path, session: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = ServerLog(tmp_path / "log")
    more = f'session = "{session}"\n'
    entries = odd("a", "slow_call", "delay=3", f"log={log.path}", more=more + "call_timeout = 1")
    entries += odd("b", "slow_call", "delay=3", more=more + "call_timeout = 30")
    loop = asyncio.get_running_loop()
    async with Bridge(load_config(write_config(entries))) as bridge:
        patient = asyncio.create_task(bridge.call("mcp_b_slow"))
        started = loop.time()
        beside = asyncio.create_task(bridge.call("mcp_a_echo", {"text": "beside"}))
        with pytest.raises(CallTimeout, match="tool 'slow' of MCP server 'a': no answer and no progress for 1 s"):
            await bridge.call("mcp_a_slow")
        assert 1 <= loop.time() - started < 5
        assert (await beside).text == "beside"
        (slow,) = log.calls("slow")
        await until(lambda: bool(log.received("notifications/cancelled")), 10)
        (cancelled,) = log.received("notifications/cancelled")
        assert cancelled["params"]["requestId"] == slow["id"]
        assert (await bridge.call("mcp_a_echo", {"text": "next"})).text == "next"
        assert (await patient).text == "slow answer after 3 s"
        assert (await bridge.call("mcp_a_echo", {"text": "later"})).text == "later"
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_an_older_server_is_accepted(write_config: Write, version: str) -> None:
    async with Bridge(load_config(write_config(odd("s", "version_old", f"version={version}")))) as bridge:
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"


@pytest.mark.usefixtures("quick_retries")
async def test_a_version_nobody_knows_is_named_and_its_server_ended(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    entries = odd("s", "version_future", f"log={log.path}") + odd("refused", "init_refused")
    async with Bridge(load_config(write_config(entries))) as bridge:
        status = {one.name: one for one in bridge.status()}
        assert status["s"].state == "failed"
        assert "speaks protocol version 2099-01-01; known here: " in status["s"].reason
        assert "2024-11-05" in status["s"].reason
        assert "2025-11-25" in status["s"].reason
        assert status["refused"].state == "failed"
        assert "refused initialize: Method not found" in status["refused"].reason
        await until(lambda: not log.running(), 10)
        await asyncio.sleep(0.5)  # a retry would not help
        assert log.starts() == 1


async def test_a_server_that_exits_at_anything_but_initialize_connects(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    entry = odd("s", "strict_handshake", f"log={log.path}", more=SHARED)
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
    said: list[Any] = [one["method"] for one in log.received() if "method" in one]
    assert said[:3] == ["initialize", "notifications/initialized", "tools/list"]


@pytest.mark.parametrize("mode", ["discover_silent", "discover_exit"])
async def test_a_server_that_swallows_probes_is_connected_in_time(
    write_config: Write, tmp_path: Path, mode: str
) -> None:
    log = ServerLog(tmp_path / "log")
    entry = odd("s", mode, f"log={log.path}", more=SHARED + "connect_timeout = 20")
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert [one.state for one in bridge.status()] == ["ready"]
        result = await asyncio.wait_for(bridge.call("mcp_s_echo", {"text": "x"}), GENEROUS)
        assert result.text == "x"
    assert log.events("exit")[0]["status"] == 0
