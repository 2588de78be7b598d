"""Roots: what servers of file systems are told that they may touch, and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_bridge import Bridge, load_config
from tests.support.entries import Write, odd
from tests.support.server_log import ServerLog

pytestmark = pytest.mark.usefixtures("no_children_left")
ROOTS = 'roots = ["file:///srv/data"]\n'


@pytest.mark.parametrize("strategy", ["warm = 0", 'session = "shared"', 'session = "chat"'])
async def test_the_first_call_of_a_session_finds_the_roots_taken_in(write_config: Write, strategy: str) -> None:
    """Else a server works with the folders that it was started with, which are wider or none."""
    entry = odd("s", "takes_roots", "delay=0.02", more=ROOTS + strategy)
    async with Bridge(load_config(write_config(entry))) as bridge:
        for chat in ("qq:group:1", "qq:group:2"):
            assert (await bridge.call("mcp_s_ask", chat=chat)).text == "file:///srv/data"


async def test_a_server_that_answers_no_ping_is_used_all_the_same(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    entry = odd("s", "takes_roots", "ping=no", f"log={log.path}", more=ROOTS + "warm = 0")
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert (await bridge.call("mcp_s_ask")).text == "file:///srv/data"
    assert not log.received("notifications/cancelled")


async def test_without_roots_nothing_is_sent_between_handshake_and_list(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    async with Bridge(load_config(write_config(odd("s", "normal", f"log={log.path}", more="warm = 0")))):
        pass
    assert [one["method"] for one in log.received()] == ["initialize", "notifications/initialized", "tools/list"]
