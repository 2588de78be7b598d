"""Tools that change after they were seen: reported, and withheld where the owner wants that."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_bridge import Bridge, ToolNotFound, load_config
from mcp_bridge.config.server_config import ServerConfig
from mcp_bridge.store.approvals import Approvals
from mcp_bridge.store.data_dir import bot_data_dir, note_bot
from mcp_bridge.tools.tool import parse_tools
from tests.support.command_line import document, run
from tests.support.entries import Write, odd
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("no_children_left")


def entry(tmp_path: Path, pin: bool) -> str:
    """Return a server whose tool `safe` changes after its first call, also for later processes."""
    return odd("s", "rug_pull", f"state={tmp_path / 'state'}", more="pin = true" if pin else "")


@pytest.mark.process
async def test_a_changed_tool_is_reported_once_with_the_difference(
    write_config: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = load_config(write_config(entry(tmp_path, pin=False)))
    async with Bridge(config) as bridge:
        before = {tool.name: tool.description for tool in bridge.tools()}["mcp_s_safe"]
        await bridge.call("mcp_s_safe", {"city": "x"})
        await bridge.refresh()
        after = {tool.name: tool.description for tool in bridge.tools()}["mcp_s_safe"]
        assert after != before
        await bridge.refresh()
    reports = [one.getMessage() for one in caplog.records if "has changed" in one.getMessage()]
    assert len(reports) == 1
    assert "'safe' of MCP server 's'" in reports[0]
    assert "description: " in reports[0]
    assert " -> " in reports[0]
    caplog.clear()
    async with Bridge(config):
        assert "has changed" not in caplog.text


@pytest.mark.process
async def test_a_pinned_tool_that_changed_is_withheld_until_it_is_accepted(
    write_config: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = write_config(entry(tmp_path, pin=True))
    config = load_config(file)
    async with Bridge(config) as bridge:
        await bridge.call("mcp_s_safe", {"city": "x"})
        await bridge.refresh()
        names = [tool.name for tool in bridge.tools()]
        assert "mcp_s_safe" not in names
        assert "mcp_s_echo" in names
        assert "withheld" in bridge.status()[0].reason
        with pytest.raises(ToolNotFound, match="mcp-bridge accept s"):
            await bridge.call("mcp_s_safe", {"city": "x"})
        assert "withheld until you run: mcp-bridge accept s" in caplog.text
    async with Bridge(config, wait=False) as bridge:  # from the stored catalogue it is not offered either
        assert "mcp_s_safe" not in [tool.name for tool in bridge.tools()]
    done = run("accept", "s", "--config", str(file), "--json")
    assert done.returncode == 0, done.stderr
    assert [one["tool"] for one in document(done)["accepted"]] == ["safe"]
    async with Bridge(config) as bridge:
        assert "mcp_s_safe" in [tool.name for tool in bridge.tools()]
        assert bridge.status()[0].reason == ""


async def test_an_unreadable_record_accepts_nothing_of_a_pinned_server(
    write_config: Write, tmp_path: Path, data_dir: Path
) -> None:
    config = load_config(write_config(odd("s", "normal", more="pin = true")))
    async with Bridge(config) as bridge:
        assert len(bridge.tools()) == 2
    (record,) = (data_dir / "approvals").glob("*.json")
    record.write_bytes(b"{")
    async with Bridge(config) as bridge:
        await until(lambda: bridge.status()[0].state == "ready")
        assert bridge.tools() == []


def test_a_difference_far_into_a_text_is_shown(tmp_path: Path) -> None:
    """Servers list what is allowed, in an order of their own, after a long text that stays the same."""
    start, config = "Run an allowed command. " * 20, ServerConfig("s")
    listings = [
        parse_tools("s", [{"name": "t", "description": f"{start}Allowed: {names}"}]) for names in ("a, b", "b, a")
    ]
    approvals = Approvals(tmp_path)
    approvals.review(config, listings[0])
    (change,) = approvals.review(config, listings[1])[1]
    assert "Allowed: a, b' -> '" in change.difference
    assert change.difference.endswith("Allowed: b, a'")
    assert len(change.difference) < 150


@pytest.mark.process
def test_accepting_for_a_server_that_is_not_there_says_so(write_config: Write) -> None:
    file = str(write_config(odd("calc", "normal") + '[mcp.servers.gone]\ncommand = "no-such-program-xyz"\n'))
    done = run("accept", "calk", "--config", file)
    assert (done.returncode, "near: calc" in done.stderr) == (2, True)
    done = run("accept", "gone", "--config", file)
    assert (done.returncode, "no-such-program-xyz" in done.stderr) == (3, True)


def test_the_command_line_finds_the_data_of_the_bot(tmp_path: Path) -> None:
    config, data = tmp_path / "config.toml", tmp_path / "bot"
    data.mkdir()
    assert bot_data_dir(config) is None
    note_bot(config, data)
    note_bot(tmp_path / "other.toml", tmp_path)
    assert bot_data_dir(config) == data
    assert bot_data_dir(None) is None
