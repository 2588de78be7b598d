"""An edited configuration in a running bridge: only what has changed is touched."""

from __future__ import annotations

import asyncio

import pytest

from mcp_bridge import Bridge, ServerUnavailable, ToolNotFound, load_config
from tests.support.entries import Write, odd
from tests.support.processes import alive
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("no_children_left")
KEPT = odd("kept", "count", more='session = "shared"')


async def test_an_added_server_comes_up_and_the_others_keep_their_sessions(write_config: Write) -> None:
    changes: list[int] = []
    config = load_config(write_config(KEPT))
    async with Bridge(config, on_change=lambda: changes.append(1)) as bridge:
        pid = (await bridge.call("mcp_kept_pid")).text
        bridge.reconfigure(load_config(write_config(KEPT + odd("new", "normal"))))
        await bridge.known()
        assert "mcp_new_echo" in [tool.name for tool in bridge.tools()]
        assert (await bridge.call("mcp_new_echo", {"text": "x"})).text == "x"
        assert (await bridge.call("mcp_kept_pid")).text == pid
        assert [status.name for status in bridge.status()] == ["kept", "new"]
    assert changes


async def test_a_long_call_finishes_though_its_server_is_removed(write_config: Write) -> None:
    async with Bridge(load_config(write_config(KEPT + odd("old", "slow_call")))) as bridge:
        pid = int((await bridge.call("mcp_old_pid")).text)
        call = asyncio.create_task(bridge.call("mcp_old_slow", {"delay": 1.5}))
        await asyncio.sleep(0.5)
        bridge.reconfigure(load_config(write_config(KEPT)))
        assert [tool.server for tool in bridge.tools()] == ["kept"] * len(bridge.tools())
        with pytest.raises(ToolNotFound):
            await bridge.call("mcp_old_slow", {"delay": 0})
        assert not (await call).is_error
        await until(lambda: not alive(pid))


async def test_a_changed_server_is_started_anew_while_its_running_call_finishes(write_config: Write) -> None:
    shared = 'session = "shared"\n'
    async with Bridge(load_config(write_config(odd("s", "slow_call", more=shared)))) as bridge:
        before = (await bridge.call("mcp_s_pid")).text
        call = asyncio.create_task(bridge.call("mcp_s_slow", {"delay": 1.5}))
        await asyncio.sleep(0.5)
        bridge.reconfigure(load_config(write_config(odd("s", "slow_call", more=shared + "call_timeout = 5"))))
        assert (await bridge.call("mcp_s_pid")).text != before
        assert not (await call).is_error
        await until(lambda: not alive(int(before)))


async def test_a_server_is_switched_off_and_on_again(write_config: Write) -> None:
    entry = odd("s", "normal")
    async with Bridge(load_config(write_config(entry))) as bridge:
        bridge.reconfigure(load_config(write_config(entry + "enabled = false")))
        assert (bridge.status()[0].state, bridge.tools()) == ("disabled", [])
        with pytest.raises(ServerUnavailable, match="disabled"):
            await bridge.call("mcp_s_echo", {"text": "x"})
        bridge.reconfigure(load_config(write_config(entry)))
        assert (await bridge.call("mcp_s_echo", {"text": "back"})).text == "back"


async def test_settings_of_all_servers_take_effect_at_once(write_config: Write) -> None:
    entry = odd("s", "normal")
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert len(bridge.tools()) == 2
        bridge.reconfigure(load_config(write_config("[mcp]\nmax_tools = 1\n" + entry)))
        assert len(bridge.tools()) == 1


async def test_a_new_secret_is_masked_from_then_on(
    write_config: Write, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NEW_SECRET", "s3cr3t-value-9")
    async with Bridge(load_config(write_config(KEPT))) as bridge:
        new = '[mcp.servers.new]\ncommand = "no-such-program-${NEW_SECRET}"\n'
        bridge.reconfigure(load_config(write_config(KEPT + new)))
        await bridge.known()
        assert "program not found: no-such-program-***" in bridge.status()[1].reason
    assert "s3cr3t-value-9" not in caplog.text


async def test_many_edits_in_a_row_leave_the_last_one(write_config: Write) -> None:
    async with Bridge(load_config(write_config(KEPT)), wait=False) as bridge:
        for number in range(5):
            bridge.reconfigure(load_config(write_config(KEPT + odd(f"s{number}", "normal"))))
        await bridge.known()
        assert [status.name for status in bridge.status()] == ["kept", "s4"]
        assert (await bridge.call("mcp_s4_echo", {"text": "x"})).text == "x"
