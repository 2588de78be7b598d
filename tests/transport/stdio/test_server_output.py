"""What servers write on their pipes: too long, in pieces, in other alphabets, or not JSON at all."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from mcp_bridge import Bridge, BridgeError, CallTimeout, ServerUnavailable, load_config
from mcp_bridge.text import json_text
from tests.support.entries import Write, odd
from tests.support.server_log import ServerLog
from tests.support.waiting import GENEROUS

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("no_children_left")]


async def test_messages_of_megabytes_and_in_pieces_arrive_complete(write_config: Write) -> None:
    entries = odd("big", "big_line", more="max_result_chars = 100_000_000") + odd("list", "big_list")
    entries += odd("split", "split_writes") + odd("sep", "unicode_separators")
    async with Bridge(load_config(write_config("[mcp]\nmax_tools = 1000\n" + entries))) as bridge:
        text = (await bridge.call("mcp_big_big")).text
        assert len(text.encode()) in range(5 * 2**20 - 8, 5 * 2**20 + 1)
        assert (text[:6], text[-4:]) == ("HEAD汉字", "TAIL")
        assert text.count("汉字") == (5 * 2**20 - 8) // 6
        assert len([tool for tool in bridge.tools() if tool.server == "list"]) == 502
        assert (await bridge.call("mcp_list_tool_499")).text == "called:tool_499"
        assert (await bridge.call("mcp_split_echo", {"text": "汉字 😀"})).text == "汉字 😀"
        assert (await bridge.call("mcp_split_two")).text == "二 two"
        assert (await bridge.call("mcp_sep_separators")).text.startswith("begin\u2028|\u2029|\x85|")
        assert "汉" in (await bridge.call("mcp_sep_echo", {"text": "汉"})).text


@pytest.mark.parametrize("session", ["fresh", "shared"])
async def test_a_message_over_the_limit_fails_its_own_call_and_no_other(write_config: Write, session: str) -> None:
    more = f'session = "{session}"\ncall_timeout = 120\nmax_result_chars = 100_000_000'
    entry = "[mcp]\nmax_message_mib = 1\n" + odd("s", "big_line", "tools=sleep", more=more)
    async with Bridge(load_config(write_config(entry))) as bridge:
        running = asyncio.create_task(bridge.call("mcp_s_sleep", {"seconds": 3}))
        await asyncio.sleep(0.3)
        failed = await asyncio.wait_for(bridge.call("mcp_s_big", {"size": 3 * 2**20}), GENEROUS)
        assert failed.is_error
        assert "the message is too long (3" in failed.text
        assert (await running).text == "slept 3 s"
        assert (await bridge.call("mcp_s_big", {"size": 2**19})).text.endswith("TAIL")


async def test_python_servers_are_told_to_write_utf8(write_config: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUTF8", raising=False)
    monkeypatch.setenv("LC_ALL", "C")
    entries = odd("a", "env_report") + odd("own", "env_report", more='env = { PYTHONUTF8 = "0" }')
    async with Bridge(load_config(write_config(entries))) as bridge:
        first, second = [json.loads((await bridge.call(f"mcp_{name}_env")).text) for name in ("a", "own")]
    assert (first["PYTHONUTF8"], second["PYTHONUTF8"]) == ("1", "0")


@pytest.mark.parametrize("session", ["fresh", "shared"])
async def test_numbers_and_characters_that_break_parsers_end_no_session(write_config: Write, session: str) -> None:
    more = f'session = "{session}"\ncall_timeout = 60'
    entries = odd("n", "nan_number", more=more) + odd("s", "surrogate", more=more)
    async with Bridge(load_config(write_config(entries))) as bridge:

        async def still_there(server: str) -> None:
            assert (await bridge.call(f"mcp_{server}_echo", {"text": "x"})).text == "x"

        nan = await asyncio.wait_for(bridge.call("mcp_n_nan"), GENEROUS)
        assert nan.text.startswith("mean is NaN")
        sent = json.dumps({"text": nan.text, "structured": json_text.plain(nan.structured)}, allow_nan=False)
        assert json.loads(sent)["structured"] == {"mean": None, "max": None, "min": None}
        await still_there("n")
        big = await asyncio.wait_for(bridge.call("mcp_n_bigint"), GENEROUS)
        assert "9" * 100 in big.text
        assert not big.is_error
        await still_there("n")
        with_limits = await asyncio.wait_for(bridge.call("mcp_n_bigfloat"), GENEROUS)
        json_text.dumps(with_limits.structured)
        assert "Infinity" not in with_limits.text
        deep = await asyncio.wait_for(bridge.call("mcp_n_deep"), GENEROUS)  # well before 60 s
        assert deep.is_error
        assert "nested too deeply" in deep.text
        await still_there("n")
        lone = await asyncio.wait_for(bridge.call("mcp_s_lone"), GENEROUS)
        assert lone.text.encode("utf-8").decode() == "before \ufffd after  end"
        await still_there("s")
        raw = await asyncio.wait_for(bridge.call("mcp_s_raw_lone"), GENEROUS)
        assert raw.text.encode("utf-8").decode().startswith("before \ufffd")
        assert (await bridge.call("mcp_s_pair")).text == "fire 🔥"


@pytest.mark.parametrize(
    "mode",
    [
        *("noise_before", "noise_braces", "noise_after", "progress_bar", "ansi_stdout", "gbk_stdout", "long_noise"),
        *("bom", "bom_each", "crlf", "blank_lines", "content_length", "nul_bytes", "pretty_printed", "one_write"),
        *("slow_write", "torn_message", "cat", "padded_line", "duplicate_keys", "escaped_ascii", "noise_around_call"),
    ],
)
async def test_other_ways_of_spoiling_a_line_hide_no_tool_and_no_answer(write_config: Write, mode: str) -> None:
    async with Bridge(load_config(write_config(odd("s", mode, more='session = "shared"')))) as bridge:
        assert [one.reason for one in bridge.status()] == [""]
        for text in ("汉字", "b"):
            result = await asyncio.wait_for(bridge.call("mcp_s_echo", {"text": text}), GENEROUS)
            assert (result.text, result.is_error) == (text, False)


async def test_a_server_that_writes_in_the_code_page_of_a_chinese_windows_is_understood(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "invalid_utf8", more='session = "shared"')))) as bridge:
        (weather,) = [tool for tool in bridge.tools() if tool.remote_name == "weather"]
        assert "查询天气" in weather.description
        assert (await bridge.call(weather.name)).text == "晴"
        assert (await bridge.call("mcp_s_echo", {"text": "你好, world"})).text == "你好, world"


async def test_a_line_on_stdout_that_never_ends_costs_only_its_call(write_config: Write) -> None:
    entry = "[mcp]\nmax_message_mib = 1\n"
    entry += odd("s", "endless_line", f"size={20 << 20}", more='session = "shared"\ncall_timeout = 2')
    async with Bridge(load_config(write_config(entry))) as bridge:
        with pytest.raises(CallTimeout):
            await bridge.call("mcp_s_endless")
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"


async def test_an_answer_without_a_line_end_is_taken_although_the_server_exits(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "no_newline_at_exit")))) as bridge:
        assert (await bridge.call("mcp_s_last")).text == "the last words"


async def test_half_an_answer_of_a_dying_server_is_a_failure_with_the_reason(write_config: Write) -> None:
    entry = odd("s", "exit_half_answer", more='session = "shared"\ncall_timeout = 300')
    async with Bridge(load_config(write_config(entry))) as bridge:
        with pytest.raises(ServerUnavailable, match=r"'s'.*killed by SIGKILL"):
            await asyncio.wait_for(bridge.call("mcp_s_die"), GENEROUS)
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("exit_silent", "exit status 0"),
        ("exit_no_newline", "exit status 7: FATAL: no license"),
        ("exit_usage", "exit status 2: server: error: --token is required"),
        ("crash_start", "exit status 1: ModuleNotFoundError: No module named 'pandas'"),
        ("exit_on_initialized", "exit status 4: FATAL: login failed"),
    ],
)
async def test_the_last_words_of_a_server_are_the_reason_wherever_it_says_them(
    write_config: Write, mode: str, reason: str
) -> None:
    async with Bridge(load_config(write_config(odd("s", mode)))) as bridge:
        (status,) = bridge.status()
        assert status.state == "retrying"
        assert f"({reason})" in status.reason


@pytest.mark.parametrize(("mode", "tool"), [("close_stdout", "mute"), ("grandchild_exit", "die")])
async def test_a_call_ends_when_no_answer_can_come_any_more(
    write_config: Write, tmp_path: Path, mode: str, tool: str
) -> None:
    log = ServerLog(tmp_path / "log")
    entry = odd("s", mode, f"log={log.path}", more='session = "shared"\ncall_timeout = 300')
    async with Bridge(load_config(write_config(entry))) as bridge:
        with pytest.raises(ServerUnavailable, match="'s'"):
            await asyncio.wait_for(bridge.call(f"mcp_s_{tool}"), GENEROUS)
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
    assert log.running() == set()


@pytest.mark.parametrize(("mode", "tool"), [("stop_reading", "stall"), ("close_stdin", "deaf")])
async def test_a_server_that_reads_no_more_blocks_neither_the_bot_nor_its_end(
    write_config: Write, tmp_path: Path, mode: str, tool: str
) -> None:
    log = ServerLog(tmp_path / "log")
    entries = odd("s", mode, f"log={log.path}", more='session = "shared"\ncall_timeout = 2') + odd("good", "normal")
    async with Bridge(load_config(write_config(entries))) as bridge:
        await bridge.call(f"mcp_s_{tool}", {"text": "x"})
        stuck = [asyncio.create_task(bridge.call("mcp_s_echo", {"text": "y" * 300_000})) for _ in range(3)]
        assert (await asyncio.wait_for(bridge.call("mcp_good_echo", {"text": "x"}), GENEROUS)).text == "x"
        for answer in await asyncio.wait_for(asyncio.gather(*stuck, return_exceptions=True), GENEROUS):
            assert isinstance(answer, BridgeError) or not isinstance(answer, BaseException)
        assert (await bridge.call("mcp_s_echo", {"text": "again"})).text == "again"
    assert log.running() == set()
