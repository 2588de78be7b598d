"""Remote servers: what users saw when one was restarted, died, sat behind a proxy or refused."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge import Bridge, BridgeError, CallTimeout, ServerUnavailable, create_mcp_tool_class, load_config
from tests.support.entries import Write, odd
from tests.support.remote import at, remote
from tests.support.waiting import GENEROUS, until

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("no_children_left")]
FORBIDDEN = ("ExceptionGroup", "TaskGroup", "Cancel", "cancel scope", "Traceback")


async def echo(bridge: Bridge, text: str, server: str = "s") -> str:
    return (await asyncio.wait_for(bridge.call(f"mcp_{server}_echo", {"text": text}), GENEROUS)).text


async def failure(bridge: Bridge, name: str) -> str:
    """Return what a failing call tells, as a program sees it; the model's text must say the same."""
    with pytest.raises(BridgeError) as caught:
        await asyncio.wait_for(bridge.call(name, {"text": "x"}), GENEROUS)
    return caught.value.message


async def test_calls_work_after_a_restart_of_the_server(write_config: Write, tmp_path: Path) -> None:
    """Reported: after a restart of the server every call said session terminated."""
    with remote(tmp_path, "normal", "tools=count") as server:
        entry = at(server.origin + "/mcp", session="shared")
        async with Bridge(load_config(write_config(entry))) as bridge:
            assert (await bridge.call("mcp_s_count")).text == "1"
            await server.steer("restart")
            results = await asyncio.gather(*(bridge.call("mcp_s_count") for _ in range(5)))
            # Each ran once, and all on one new session: none was opened for each of them.
            assert sorted(result.text for result in results) == ["1", "2", "3", "4", "5"]
            await until(lambda: len(server.messages("tools/list")) == 2)  # listed again
            assert bridge.status()[0].failures == 0
        assert 2 <= len(server.messages("initialize")) <= 3  # the listing may open a session of its own
        opening = [one for one in server.requests() if "mcp-session-id" not in one["headers"]]
        assert len(opening) == len(server.messages("initialize"))  # never with the old id
        assert len(server.messages("tools/call")) == 6


async def test_a_call_ends_at_once_when_its_server_dies(write_config: Write, tmp_path: Path) -> None:
    """Reported: the server died in a call and the client waited for ever."""
    with remote(tmp_path, "normal", "tools=sleep") as server:
        entry = at(server.origin + "/mcp", call_timeout=60)
        async with Bridge(load_config(write_config(entry))) as bridge:
            (tool,) = [one for one in bridge.tools() if one.remote_name == "sleep"]
            call = asyncio.create_task(create_mcp_tool_class(tool, bridge)().execute({"seconds": 50}))
            await until(lambda: len(server.messages("tools/call")) == 1)
            server.kill()
            answer = await asyncio.wait_for(call, 10)
            assert "MCP server 's'" in answer["content"]
            assert not [word for word in FORBIDDEN if word in answer["content"]]
            with remote(tmp_path, "normal", f"port={server.port}"):
                assert await echo(bridge, "again") == "again"


@pytest.mark.parametrize(
    ("options", "path", "posted"),
    [
        (("mount=/gw/mcp", "endpoint=relative"), "/gw/mcp/sse", "/gw/mcp/messages/?session_id="),
        (("mount=/gw/mcp", "endpoint=full"), "/gw/mcp/sse", "/gw/mcp/messages/?session_id="),
        (("endpoint=absolute",), "/sse", "/messages/?session_id="),
    ],
)
async def test_messages_find_their_path_behind_a_proxy(
    write_config: Write, tmp_path: Path, options: tuple[str, ...], path: str, posted: str
) -> None:
    """Reported: behind a proxy the messages went to the wrong path."""
    with remote(tmp_path, "normal", *options) as server:
        config = load_config(write_config(at(server.origin + path, transport="sse")))
        async with Bridge(config) as bridge:
            assert await echo(bridge, "x") == "x"
        posts = [one["path"] for one in server.requests() if one["method"] == "POST"]
        assert posts
        assert all(one.startswith(posted) for one in posts)


async def test_a_prefix_that_only_the_proxy_knows_can_be_named_and_another_origin_never_is_followed(
    write_config: Write, tmp_path: Path
) -> None:
    with (
        remote(tmp_path, "normal", "mount=/gw", "endpoint=absolute") as proxied,
        remote(tmp_path) as thief,
        remote(tmp_path, "normal", "endpoint=other_host", f"url={thief.origin}") as lured,
    ):
        entries = at(proxied.origin + "/gw/sse", transport="sse", sse_prefix="/gw")
        entries += at(lured.origin + "/sse", "lured", transport="sse", bearer="s3cr3t-token")
        async with Bridge(load_config(write_config(entries))) as bridge:
            assert await echo(bridge, "x") == "x"
            status = bridge.status()[1]
            said = f"the server's `endpoint` event names another origin: {thief.origin}/messages/"
            assert (status.state, said in status.reason) == ("failed", True), status.reason
        assert thief.requests() == []


async def test_a_401_is_told_as_a_401(write_config: Write, tmp_path: Path) -> None:
    """Reported: a 401 surfaced as cancelled via cancel scope."""
    refusals = {
        "a401": "401 Unauthorized",
        "a403": "403 Forbidden",
        "a500": "500 Internal Server Error",
        "refused": "connection refused",
        "nowhere": "host name 'no-such-host.invalid'",
    }
    with (
        remote(tmp_path, "normal", "http=401") as first,
        remote(tmp_path, "normal", "http=403") as second,
        remote(tmp_path, "normal", "http=500") as third,
    ):
        urls = [one.origin for one in (first, second, third)]
        urls += ["http://127.0.0.1:9", "http://no-such-host.invalid"]
        entries = "".join(
            at(f"{url}/mcp?key=s3cr3t-key", name, transport="http") for name, url in zip(refusals, urls, strict=True)
        )
        async with Bridge(load_config(write_config(entries + odd("good", "normal")))) as bridge:
            states = {one.name: one.state for one in bridge.status()}
            assert states.pop("good") == "ready"
            assert states.pop("a401") == states.pop("a403") == "failed"
            assert set(states.values()) == {"retrying"}
            for (name, said), url in zip(refusals.items(), urls, strict=True):
                told = await failure(bridge, f"mcp_{name}_echo")
                assert f"'{name}'" in told
                assert said in told
                assert f"{url}/mcp" in told
                assert not [word for word in (*FORBIDDEN, "s3cr3t") if word in told]
            assert await echo(bridge, "x", "good") == "x"
            before = len(first.requests()) + len(second.requests())
            await until(lambda: len(third.requests()) > 1, 5 * GENEROUS)  # 500 is tried again, after 2 s at first
            await asyncio.sleep(1)
            assert len(first.requests()) + len(second.requests()) == before == 2  # 401 and 403 never are


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
async def test_a_tool_of_8_seconds_outlasts_the_sdks_own_limit(write_config: Write, tmp_path: Path, path: str) -> None:
    """Reported: a tool of 8 seconds ended at the SDK's own limit."""
    with remote(tmp_path, "normal", "tools=sleep,count", "keepalive=100") as server:
        more: dict[str, Any] = {"call_timeout": 20, "session": "shared"}
        if path == "/sse":
            more["transport"] = "sse"
        async with Bridge(load_config(write_config(at(server.origin + path, **more)))) as bridge:
            assert (await bridge.call("mcp_s_count")).text == "1"
            started = time.monotonic()
            assert (await bridge.call("mcp_s_sleep", {"seconds": 8})).text == "slept 8 s"
            assert time.monotonic() - started >= 8
            await asyncio.sleep(7)  # no byte flows, not even a comment
            assert (await bridge.call("mcp_s_count")).text == "2"  # and it is still the same session
            assert len(server.events("session")) == 1


# Siblings: other ways in which a remote server goes.


async def test_a_session_that_expires_every_two_requests_costs_no_call(write_config: Write, tmp_path: Path) -> None:
    with remote(tmp_path, "count", "http=404_session", "after=2") as server:
        for session in ("fresh", "shared"):
            entry = at(server.origin + "/mcp", session=session)
            async with Bridge(load_config(write_config(entry))) as bridge:
                assert [await echo(bridge, str(number)) for number in range(7)] == [str(n) for n in range(7)]
                assert bridge.status()[0].failures == 0


async def test_a_call_that_is_never_answered_ends_at_its_limit_and_only_it(write_config: Write, tmp_path: Path) -> None:
    with remote(tmp_path, "normal", "http=hang", "on=tools/call", "times=1") as server:
        entry = at(server.origin + "/mcp", call_timeout=1.5)
        async with Bridge(load_config(write_config(entry))) as bridge:
            started = time.monotonic()
            with pytest.raises(CallTimeout, match=r"no answer and no progress for 1\.5 s"):
                await bridge.call("mcp_s_echo", {"text": "x"})
            assert time.monotonic() - started >= 1.5
            assert await echo(bridge, "again") == "again"


@pytest.mark.parametrize(
    ("oddity", "said"),
    [
        ("429", "429 Too Many Requests"),
        ("502", "502 Bad Gateway"),
        ("401", "401 Unauthorized"),
        ("html", "the server answered 200 with 'text/html'"),
    ],
)
@pytest.mark.parametrize("session", ["fresh", "shared"])
async def test_one_refused_call_is_told_and_the_next_one_works(
    write_config: Write, tmp_path: Path, oddity: str, said: str, session: str
) -> None:
    with remote(tmp_path, "normal", f"http={oddity}", "on=tools/call", "times=1") as server:
        entry = at(server.origin + "/mcp", session=session)
        async with Bridge(load_config(write_config(entry))) as bridge:
            try:
                told = (await bridge.call("mcp_s_echo", {"text": "x"})).text
            except ServerUnavailable as error:
                told = error.message
                assert "'s'" in told
            assert said in told
            assert await echo(bridge, "again") == "again"


async def test_a_server_that_was_down_when_its_owner_had_it_listed_again_comes_back_by_itself(
    write_config: Write, tmp_path: Path
) -> None:
    with remote(tmp_path, "normal") as server:
        async with Bridge(load_config(write_config(at(server.origin + "/mcp")))) as bridge:
            await server.steer("set?http=500")
            await bridge.refresh()
            assert bridge.status()[0].state == "retrying"
            await server.steer("set?http=")
            await until(lambda: bridge.status()[0].state == "ready")
            assert await echo(bridge, "x") == "x"


async def test_a_token_that_expires_while_the_bot_runs_is_named_as_such(write_config: Write, tmp_path: Path) -> None:
    with remote(tmp_path, "normal", "auth=old-token") as server:
        entry = at(server.origin + "/mcp", bearer="old-token", session="shared")
        async with Bridge(load_config(write_config(entry))) as bridge:
            assert await echo(bridge, "x") == "x"
            await server.steer("set?auth=new-token")
            told = await failure(bridge, "mcp_s_echo")
            assert "401 Unauthorized" in told
            assert "check the token" in told
            assert "old-token" not in told
            await server.steer("set?auth=old-token")
            assert await echo(bridge, "again") == "again"


async def test_all_streams_of_an_old_server_end_in_a_call_and_the_call_ends_too(
    write_config: Write, tmp_path: Path
) -> None:
    with remote(tmp_path, "normal", "http=drop_sse") as server:
        entry = at(server.origin + "/sse", transport="sse", call_timeout=60)
        async with Bridge(load_config(write_config(entry))) as bridge:
            told = await failure(bridge, "mcp_s_echo")
            assert "'s'" in told
            assert await echo(bridge, "again") == "again"


async def test_a_redirect_that_never_ends_is_told_as_one(write_config: Write, tmp_path: Path) -> None:
    with remote(tmp_path, "normal", "http=redirect_loop") as server:
        async with Bridge(load_config(write_config(at(server.origin + "/mcp")))) as bridge:
            assert "redirected" in bridge.status()[0].reason
        assert len(server.requests()) <= 20


@pytest.mark.parametrize("strategy", ["shared", "chat", "fresh"])
async def test_the_server_is_told_that_its_sessions_are_over(
    write_config: Write, tmp_path: Path, strategy: str
) -> None:
    with remote(tmp_path, "normal") as server:
        entry = at(server.origin + "/mcp", session=strategy, warm=0)
        async with Bridge(load_config(write_config(entry))) as bridge:
            for number in range(3):
                assert await echo(bridge, str(number)) == str(number)
        assert (await server.steer("set"))["sessions"] == 0
        ended = [one for one in server.requests() if one["method"] == "DELETE"]
        assert len(ended) == len(server.events("session"))


@pytest.mark.parametrize("way", ["answer=json", "answer=sse", "/sse"])
async def test_an_answer_over_the_limit_costs_only_its_call(write_config: Write, tmp_path: Path, way: str) -> None:
    options = () if way == "/sse" else (way,)
    with remote(tmp_path, "big_line", "tools=count", *options) as server:
        where = at(server.origin + "/sse", transport="sse", session="shared", call_timeout=60)
        if way != "/sse":
            where = at(server.origin + "/mcp", session="shared", call_timeout=60)
        async with Bridge(load_config(write_config("[mcp]\nmax_message_mib = 1\n" + where))) as bridge:
            assert (await bridge.call("mcp_s_count")).text == "1"
            told = await asyncio.wait_for(bridge.call("mcp_s_big", {"size": 3 << 20}), GENEROUS)
            assert told.is_error
            assert "1048576 bytes" in told.text or "too long" in told.text
            assert (await bridge.call("mcp_s_big", {"size": 1000})).text.endswith("TAIL")
            assert (await bridge.call("mcp_s_count")).text == "2"  # the session, and what it holds, is still there


@pytest.mark.parametrize("way", ["answer=json", "answer=sse", "/sse"])
async def test_half_an_answer_ends_its_call_at_once(write_config: Write, tmp_path: Path, way: str) -> None:
    more: dict[str, Any] = {"call_timeout": 100}
    with remote(tmp_path, "answer_cut", *([way] if "answer" in way else [])) as server:
        entry = at(server.origin + "/mcp", **more)
        if way == "/sse":
            entry = at(server.origin + "/sse", transport="sse", **more)
        async with Bridge(load_config(write_config(entry))) as bridge:
            (cut,) = [tool for tool in bridge.tools() if tool.remote_name == "cut"]
            answer = await asyncio.wait_for(create_mcp_tool_class(cut, bridge)().execute({}), GENEROUS)
            assert "'s'" in answer["content"]
            assert await echo(bridge, "again") == "again"
