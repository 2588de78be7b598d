"""Remote servers that have forgotten a session, or seem to: what that may cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_bridge import Bridge, ServerUnavailable, load_config
from tests.support.entries import Write
from tests.support.remote import at, remote
from tests.support.waiting import until

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("no_children_left")]


FORGOTTEN = {
    "typescript": "400 Bad Request",
    "python": "Missing session ID",
    "uninitialized": "Server not initialized",
    "rust": "Unauthorized: Session not found",
    "hub": "Invalid or missing session ID",
    "proxy": "500 Internal Server Error",
    "busy": "Unknown Mcp-Session-Id",
    "gone": "410 Gone",
    "chinese": "会话不存在或已过期",
}


@pytest.mark.parametrize("session", ["shared", "chat", "fresh"])
@pytest.mark.parametrize(("way", "said"), FORGOTTEN.items())
async def test_a_server_that_forgot_its_sessions_and_does_not_say_404_costs_one_call_and_not_all(
    write_config: Write, tmp_path: Path, way: str, said: str, session: str
) -> None:
    with remote(tmp_path, "normal", "tools=count", f"forgotten={way}") as server:
        entry = at(server.origin + "/mcp", session=session, warm=3)
        async with Bridge(load_config(write_config(entry))) as bridge:
            assert (await bridge.call("mcp_s_count", chat="qq:group:1")).text == "1"
            await until(lambda: len(server.events("session")) >= (4 if session == "fresh" else 1))  # spares wait
            await server.steer("restart")
            before = len(server.messages("tools/call"))
            with pytest.raises(ServerUnavailable) as caught:
                await bridge.call("mcp_s_count", chat="qq:group:1")
            assert said in caught.value.message
            assert "the next call gets a new session" in caught.value.message
            assert len(server.messages("tools/call")) == before  # not repeated: only a 404 is certain
            for _ in range(3):
                assert not (await bridge.call("mcp_s_count", chat="qq:group:1")).is_error
            assert bridge.status()[0].state == "ready"


@pytest.mark.parametrize("way", ["typescript", "rust"])
async def test_a_listing_on_a_forgotten_session_is_made_again_on_a_new_one(
    write_config: Write, tmp_path: Path, way: str
) -> None:
    with remote(tmp_path, "normal", "tools=count", f"forgotten={way}") as server:
        async with Bridge(load_config(write_config(at(server.origin + "/mcp", session="shared")))) as bridge:
            assert (await bridge.call("mcp_s_count")).text == "1"
            await server.steer("restart")
            await bridge.refresh()
            assert bridge.status()[0].state == "ready"
            assert (await bridge.call("mcp_s_count")).text == "1"


@pytest.mark.parametrize("oddity", ["200_rpc", "400_rpc", "500_rpc"])
async def test_a_refused_call_that_names_itself_does_not_cost_the_session(
    write_config: Write, tmp_path: Path, oddity: str
) -> None:
    with remote(tmp_path, "normal", "tools=count,echo", f"http={oddity}", "on=tools/call", "times=0") as server:
        entry = at(server.origin + "/mcp", session="shared")
        async with Bridge(load_config(write_config(entry))) as bridge:
            await server.steer("set?http=")
            assert (await bridge.call("mcp_s_count")).text == "1"
            await server.steer(f"set?http={oddity}")
            told = await bridge.call("mcp_s_count")  # a session of its own, a browser's for example
            assert (told.is_error, "session not found: tab-5" in told.text) == (True, True)
            await server.steer("set?http=")
            assert (await bridge.call("mcp_s_count")).text == "2"
