"""How servers start, talk and die: what their owners saw, and what is right."""

from __future__ import annotations

import asyncio
import json
import logging
import tracemalloc
from pathlib import Path

import pytest

from mcp_bridge import Bridge, ServerConfig, ServerUnavailable, create_mcp_tool_class, load_config
from tests.support.entries import Write, odd
from tests.support.processes import alive
from tests.support.server_log import ServerLog
from tests.support.waiting import GENEROUS, until

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("no_children_left")]


async def test_a_banner_on_stdout_hides_no_tools_and_is_told_once(
    write_config: Write, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mcp_bridge")
    entry = odd("chatty", "stdout_banner", more='session = "shared"') + odd("long", "long_noise")
    async with Bridge(load_config(write_config(entry))) as bridge:
        names = [tool.name for tool in bridge.tools() if tool.server == "chatty"]
        assert names == ["mcp_chatty_echo", "mcp_chatty_pid"]
        for text in ("a", "b"):
            assert (await bridge.call("mcp_chatty_echo", {"text": text})).text == text
        assert (await bridge.call("mcp_long_echo", {"text": "c"})).text == "c"
    told = [(one.levelno, one.getMessage()) for one in caplog.records if "non-protocol output" in one.getMessage()]
    chatty = [(level, text) for level, text in told if "'chatty'" in text]
    first = "MCP server 'chatty' writes non-protocol output to stdout: === odd server v1.0 ==="
    assert chatty[0] == (logging.WARNING, first)
    assert len(chatty) > 10
    assert {level for level, _ in chatty[1:]} == {logging.DEBUG}
    assert max(len(text.partition("stdout: ")[2]) for _, text in told) == 200


async def test_a_megabyte_of_log_on_stderr_blocks_nothing(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "stderr_flood", more='session = "shared"')))) as bridge:
        for text in ("a", "b", "c"):
            assert (await asyncio.wait_for(bridge.call("mcp_s_echo", {"text": text}), GENEROUS)).text == text


async def test_a_line_on_stderr_that_never_ends_fills_no_memory(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "stderr_endless", more='session = "shared"')))) as bridge:
        await bridge.call("mcp_s_echo", {"text": "x"})
        tracemalloc.start()
        try:
            for _ in range(2):  # 64 MiB each
                assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
            now, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 16 * 2**20
    assert now < 2 * 2**20


async def test_a_failure_says_how_the_server_ended_and_each_line_whose_it_is(
    write_config: Write, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mcp_bridge")
    entries = odd("a", "exit_at_once") + odd("b", "gbk_stderr", more='session = "shared"') + odd("c", "exit_after_init")
    async with Bridge(load_config(write_config(entries))) as bridge:
        reasons = {one.name: one.reason for one in bridge.status()}
        assert (await bridge.call("mcp_b_echo", {"text": "x"})).text == "x"
        await until(lambda: "[b] " in caplog.text)
    assert "(exit status 3: FATAL: DATABASE_URL is not set)" in reasons["a"]
    assert "tools/list (exit status 4: FATAL: cannot read the tool directory)" in reasons["c"]
    lines = [one.getMessage() for one in caplog.records]
    assert "[a] FATAL: DATABASE_URL is not set" in lines
    assert any(line.startswith("[b] ") and "\ufffd" in line for line in lines)
    assert any(line.startswith("[b] ") and "raw" in line for line in lines)


@pytest.mark.parametrize("session", ["fresh", "shared"])
async def test_a_server_that_dies_ends_every_call_that_waits_for_it(write_config: Write, session: str) -> None:
    more = f'session = "{session}"\ncall_timeout = 300'
    async with Bridge(load_config(write_config(odd("s", "exit_mid_call", "tools=sleep", more=more)))) as bridge:
        tools = {tool.remote_name: create_mcp_tool_class(tool, bridge)() for tool in bridge.tools()}
        sleeping = [asyncio.create_task(tools["sleep"].execute({"seconds": 200})) for _ in range(2)]
        await asyncio.sleep(0.5)
        died = await asyncio.wait_for(tools["die"].execute({}), GENEROUS)
        assert "'s'" in died["content"]
        assert "killed by SIGKILL" in died["content"]
        if session == "shared":
            for answer in await asyncio.wait_for(asyncio.gather(*sleeping), GENEROUS):
                assert "killed by SIGKILL" in answer["content"]
        else:  # each call has a server of its own, which still works
            assert not any(task.done() for task in sleeping)
        for task in sleeping:
            task.cancel()
        await asyncio.gather(*sleeping, return_exceptions=True)
        assert (await bridge.call("mcp_s_echo", {"text": "next"})).text == "next"


@pytest.mark.parametrize("session", ["fresh", "shared"])
async def test_a_call_after_the_servers_death_works_and_none_is_repeated(
    write_config: Write, tmp_path: Path, session: str
) -> None:
    log = ServerLog(tmp_path / "log")
    entry = odd("s", "exit_after_call", f"log={log.path}", more=f'session = "{session}"\ncall_timeout = 60')
    entry += odd("d", "exit_mid_call", f"log={log.path}", more=f'session = "{session}"')
    async with Bridge(load_config(write_config(entry))) as bridge:
        for text in ("one", "two", "three"):
            assert (await asyncio.wait_for(bridge.call("mcp_s_echo", {"text": text}), GENEROUS)).text == text
            await asyncio.sleep(0.4)
        with pytest.raises(ServerUnavailable):
            await bridge.call("mcp_d_die")
    assert [call["params"]["arguments"]["text"] for call in log.calls("echo")] == ["one", "two", "three"]
    assert len(log.calls("die")) == 1


@pytest.mark.parametrize(("mode", "phase"), [("hang_init", "initialize"), ("hang_list", "tools/list")])
async def test_a_handshake_that_never_ends_is_given_up_and_others_work_meanwhile(
    write_config: Write, tmp_path: Path, mode: str, phase: str
) -> None:
    log = ServerLog(tmp_path / "log")
    entries = odd("hung", mode, f"log={log.path}", more="connect_timeout = 2") + odd("good", "normal")
    loop = asyncio.get_running_loop()
    started = loop.time()
    async with Bridge(load_config(write_config(entries)), wait=False) as bridge:
        assert (await bridge.call("mcp_good_echo", {"text": "x"})).text == "x"
        with pytest.raises(ServerUnavailable, match=rf"'hung'.*no answer to {phase} within [12][.\d]* s") as caught:
            await bridge.call("mcp_hung_echo", {"text": "x"})
        assert caught.value.server == "hung"
        assert loop.time() - started >= 2
        first = log.events("start")[0]["pid"]
        await until(lambda: not alive(first), 10)
        assert (await bridge.call("mcp_good_echo", {"text": "y"})).text == "y"


async def test_a_slow_start_is_waited_for_longer_than_a_call(write_config: Write) -> None:
    assert ServerConfig("any").connect_timeout >= 30
    entry = odd("a", "slow_init", "delay=2.5", more="connect_timeout = 40\ncall_timeout = 1")
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert [one.state for one in bridge.status()] == ["ready"]


async def test_a_start_that_took_too_long_is_repeated_and_the_tools_appear(write_config: Write, tmp_path: Path) -> None:
    changes: list[int] = []
    entry = odd("a", "hang_first_start", f"state={tmp_path / 'state'}", more="connect_timeout = 3")
    async with Bridge(load_config(write_config(entry)), on_change=lambda: changes.append(1)) as bridge:
        assert (bridge.tools(), bridge.status()[0].state) == ([], "retrying")
        await until(lambda: bridge.status()[0].state == "ready")
        assert [tool.name for tool in bridge.tools()] == ["mcp_a_echo", "mcp_a_pid"]
        assert changes == [1]
    assert json.loads((tmp_path / "state").read_text())["starts"] >= 2
