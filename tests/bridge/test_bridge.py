"""A bridge over real servers: what its user can rely on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from mcp_bridge import Bridge, CallTimeout, PermissionDenied, ServerUnavailable, ToolNotFound, load_config
from tests.support.entries import Write, odd
from tests.support.processes import alive
from tests.support.waiting import GENEROUS, until

pytestmark = pytest.mark.usefixtures("no_children_left")


async def test_each_call_gets_a_process_of_its_own(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s1", "normal") + odd("s2", "normal")))) as bridge:
        pids = [(await bridge.call(name)).text for name in ("mcp_s1_pid", "mcp_s1_pid", "mcp_s2_pid", "mcp_s2_pid")]
        assert len(set(pids)) == 4
    await until(lambda: not any(alive(int(pid)) for pid in pids))


async def test_broken_servers_cost_only_themselves(write_config: Write) -> None:
    entries = (
        odd("good", "normal")
        + odd("slow", "hang_init", more="connect_timeout = 1")
        + odd("bad", "exit_at_once")
        + odd("list", "hang_list", more="connect_timeout = 1")
        + '[mcp.servers.gone]\ncommand = "no-such-program-xyz"\n'
        + "[mcp.servers.wrong]\nargs = []\n"
        + '[mcp.servers.off]\nenabled = false\ncommand = "no-such-program-xyz"\n'
    )
    async with Bridge(load_config(write_config(entries))) as bridge:
        status = {one.name: one for one in bridge.status()}
        assert [tool.name for tool in bridge.tools()] == ["mcp_good_echo", "mcp_good_pid"]
        assert (status["good"].state, status["good"].tools) == ("ready", 2)
        assert status["slow"].reason == "no answer to initialize within 1 s (connect_timeout)"
        assert "tools/list" in status["list"].reason
        assert "exit status 3: FATAL: DATABASE_URL is not set" in status["bad"].reason
        assert status["gone"].reason == "program not found: no-such-program-xyz"
        assert "needs command or url" in status["wrong"].reason
        assert {name: one.state for name, one in status.items()} == {
            "good": "ready",
            "slow": "retrying",
            "list": "retrying",
            "bad": "retrying",
            "gone": "failed",
            "wrong": "failed",
            "off": "disabled",
        }
        assert (await bridge.call("mcp_good_echo", {"text": "嗨"})).text == "嗨"
        with pytest.raises(ServerUnavailable, match=r"'gone'.*no-such-program-xyz") as caught:
            await bridge.call("mcp_gone_anything")
        assert caught.value.server == "gone"


async def test_a_call_waits_for_its_own_server_only(write_config: Write) -> None:
    entries = odd("good", "normal") + odd("hung", "hang_init", more="connect_timeout = 60")
    async with Bridge(load_config(write_config(entries)), wait=False) as bridge:
        result = await asyncio.wait_for(bridge.call("mcp_good_echo", {"text": "x"}), GENEROUS)
        assert result.text == "x"
        assert {one.name: one.state for one in bridge.status()}["hung"] == "starting"


async def test_an_unknown_tool_is_told_with_its_neighbours(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "normal")))) as bridge:
        with pytest.raises(ToolNotFound, match="mcp_s_echo") as caught:
            await bridge.call("mcp_s_ecko")
        assert caught.value.near[0] == "mcp_s_echo"
        with pytest.raises(ToolNotFound):
            await bridge.call("")


async def test_a_failing_tool_is_a_result_and_is_counted(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "results")))) as bridge:
        failed = await bridge.call("mcp_s_is_error")
        assert (failed.text, failed.is_error) == ("disk is full", True)
        refused = await bridge.call("mcp_s_rpc_error")
        assert refused.is_error
        assert "backend unavailable" in refused.text
        (status,) = bridge.status()
        assert (status.state, status.calls, status.failures) == ("ready", 2, 2)
        assert "backend unavailable" in status.last_error
        assert not (await bridge.call("mcp_s_echo", {"text": "x"})).is_error


async def test_a_server_that_dies_during_a_call_ends_it_with_the_reason(write_config: Write) -> None:
    entries = odd("s", "exit_mid_call", more="call_timeout = 60") + odd("c", "crash_call")
    async with Bridge(load_config(write_config(entries))) as bridge:
        with pytest.raises(ServerUnavailable, match="killed by SIGKILL") as caught:
            await asyncio.wait_for(bridge.call("mcp_s_die"), GENEROUS)
        assert caught.value.server == "s"
        with pytest.raises(ServerUnavailable, match="RuntimeError: database is locked"):
            await bridge.call("mcp_c_crash")
        assert (await bridge.call("mcp_s_echo", {"text": "again"})).text == "again"


async def test_a_slow_tool_ends_at_its_own_servers_limit(write_config: Write) -> None:
    entries = odd("a", "slow_call", "delay=1.5", more="call_timeout = 0.5")
    entries += odd("b", "slow_call", "delay=1.5", more="call_timeout = 30")
    loop = asyncio.get_running_loop()
    async with Bridge(load_config(write_config(entries))) as bridge:
        started = loop.time()
        with pytest.raises(CallTimeout, match=r"'a': no answer and no progress for 0\.5 s"):
            await bridge.call("mcp_a_slow")
        assert loop.time() - started >= 0.5
        assert "slow answer" in (await bridge.call("mcp_b_slow")).text


async def test_progress_keeps_a_long_call_alive_but_not_for_ever(write_config: Write) -> None:
    entries = odd("ok", "progress_then_result", "delay=2", more="call_timeout = 1")
    entries += odd("endless", "progress_endless", more="call_timeout = 0.9\nmax_call_time = 1.8")
    async with Bridge(load_config(write_config(entries))) as bridge:
        assert "token=" in (await bridge.call("mcp_ok_work", {"seconds": 2})).text
        with pytest.raises(CallTimeout, match=r"not done after 1\.8 s in all"):
            await bridge.call("mcp_endless_work")


async def test_the_server_is_told_once_that_a_call_was_given_up(write_config: Write, tmp_path: Path) -> None:
    log = tmp_path / "log"
    entries = odd("s", "never_call", f"log={log}", more="call_timeout = 1")
    async with Bridge(load_config(write_config(entries))) as bridge:
        with pytest.raises(CallTimeout):
            await bridge.call("mcp_s_never")
        task = asyncio.create_task(bridge.call("mcp_s_never"))
        await until(lambda: log.read_text().count('"method": "tools/call"') == 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: log.read_text().count("notifications/cancelled") == 2)
    assert log.read_text().count("notifications/cancelled") == 2


@pytest.mark.parametrize("arguments", ["", None, "null", "{}", {}, "  "])
async def test_a_tool_without_parameters_takes_whatever_a_model_sends_for_nothing(
    write_config: Write, arguments: str | None
) -> None:
    async with Bridge(load_config(write_config(odd("s", "strict_args")))) as bridge:
        assert (await bridge.call("mcp_s_noargs", arguments)).text.startswith("ok:")


async def test_arguments_are_repaired_by_the_schema(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "strict_args")))) as bridge:
        sent = {"count": "5", "ratio": "0.5", "flag": "true", "note": None}
        result = await bridge.call("mcp_s_strict", sent)
        assert not result.is_error, result.text
        broken = await bridge.call("mcp_s_strict", '{"count":')
        assert broken.is_error
        assert "JSON" in broken.text
        assert (await bridge.call("mcp_s_strict", "[1]")).is_error


async def test_all_pages_of_a_tool_list_are_read_and_broken_tools_left_out(write_config: Write) -> None:
    entries = odd("p", "paginate") + odd("e", "cursor_page_error") + odd("b", "bad_tools")
    async with Bridge(load_config(write_config(entries))) as bridge:
        names = [tool.remote_name for tool in bridge.tools() if tool.server == "p"]
        assert names == ["echo", "pid", "page1_a", "page1_b", "page2_a", "page2_b"]
        assert "page2_b" in (await bridge.call("mcp_p_page2_b")).text
        counts = {one.name: one.tools for one in bridge.status()}
        assert counts["e"] == 2
        assert counts["b"] >= 3


async def test_a_chat_sees_and_calls_only_what_the_owner_allows(write_config: Write) -> None:
    more = 'chats = ["qq:123", "*:private:*"]\nusers = ["qq:1"]\ntools = { deny = ["pid"] }'
    async with Bridge(load_config(write_config(odd("s", "normal", more=more)))) as bridge:
        assert [tool.name for tool in bridge.tools()] == ["mcp_s_echo"]
        assert len(bridge.tools("qq:group:123", "qq:1")) == 1
        assert bridge.tools("qq:group:124", "qq:1") == bridge.tools("qq:group:123", "qq:2") == []
        assert (await bridge.call("mcp_s_echo", {"text": "x"}, chat="qq:private:9", user="qq:1")).text == "x"
        with pytest.raises(PermissionDenied, match="'s'"):
            await bridge.call("mcp_s_echo", {"text": "x"}, chat="qq:group:124", user="qq:1")
        with pytest.raises(ToolNotFound):
            await bridge.call("mcp_s_pid")


async def test_any_task_may_close_and_nothing_is_left(write_config: Write, caplog: pytest.LogCaptureFixture) -> None:
    bridges = [Bridge(load_config(write_config(odd("s", "normal")))) for _ in range(3)]
    for bridge in bridges:
        await asyncio.create_task(bridge.start())
    for bridge in bridges:
        await asyncio.create_task(bridge.close())
        await bridge.close()
    assert "cancel scope" not in caplog.text
    assert "asynchronous generator" not in caplog.text


@pytest.mark.process
@pytest.mark.parametrize("mode", ["ignore_eof", "ignore_stdin_close", "wrapper", "grandchild", "busy_loop", "stopped"])
async def test_stubborn_servers_and_their_helpers_end_with_the_bridge(
    write_config: Write, tmp_path: Path, mode: str
) -> None:
    log = tmp_path / "log"
    async with Bridge(load_config(write_config(odd("s", mode, f"log={log}")))) as bridge:
        await bridge.call("mcp_s_echo", {"text": "x"})
    started = [line for line in log.read_text().splitlines() if '"start"' in line or '"child"' in line]
    assert started
    assert not [line for line in started if alive(json.loads(line)["pid"])]  # at once, not soon


@pytest.mark.process
async def test_secrets_of_the_configuration_are_in_no_error_and_no_log(
    write_config: Write, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    entries = odd("s", "leaky_stderr", more='env = { GITHUB_TOKEN = "s3cr3t-abc" }')
    entries += odd("x", "leaky_exit", more='env = { GITHUB_TOKEN = "s3cr3t-abc" }')
    async with Bridge(load_config(write_config(entries))) as bridge:
        leak = await bridge.call("mcp_s_leak")
        assert leak.is_error
        assert "s3cr3t-abc" not in leak.text
        await until(lambda: "***" in caplog.text)
        assert "s3cr3t-abc" not in str(bridge.status())
    assert "s3cr3t-abc" not in caplog.text


async def test_stored_tools_are_there_at_once_and_corrected_later(write_config: Write, tmp_path: Path) -> None:
    state = tmp_path / "state"
    config = load_config(write_config(odd("s", "list_changed", f"state={state}")))
    async with Bridge(config) as bridge:
        first = [tool.name for tool in bridge.tools()]
        await bridge.call("mcp_s_grow")
    changes: list[int] = []
    async with Bridge(config, wait=False, on_change=lambda: changes.append(1)) as bridge:
        assert [tool.name for tool in bridge.tools()] == first
        await until(lambda: "mcp_s_grown1" in [tool.name for tool in bridge.tools()])
    assert changes == [1]


async def test_damaged_and_foreign_stored_files_are_ignored(write_config: Write, data_dir: Path) -> None:
    config = load_config(write_config(odd("s", "normal")))
    async with Bridge(config):
        pass
    (stored,) = (data_dir / "catalogue").glob("*.json")
    for damage in (b"", b"{", b'{"format": 1, "server": "s", "tools": 5}', b"[" * 100_000, b"\xff\xfe"):
        stored.write_bytes(damage)
        async with Bridge(config) as bridge:
            assert len(bridge.tools()) == 2
