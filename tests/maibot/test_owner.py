"""What the bot's owner sees and controls, with the real host around it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from .conftest import Boot
from .host import RealHost
from .processes import wait_for

EDITED_SECONDS = 25.0
"""An edited config.toml takes effect; the goal of 5 s holds for an idle machine and is printed."""
RELOADING = "the tools have changed: reloading the plugin once"
OWNER, STRANGER = "10001", "666"
CONTROLLED = '[mcp]\nowners = ["qq:10001"]\n\n'

Plain = Callable[..., str]


@pytest.fixture
def owned(boot: Boot, plain: Plain) -> RealHost:
    """Return a host with an owner, whose one tool needs consent, another is in one group only, and one is gone."""
    servers = (
        plain("open", rate={"user": "3/min"}, send_media=True)
        + plain("asking", confirm=["slow"], confirm_timeout=20)
        + plain("here", chats=["qq:123456"])
        + plain("there", chats=["qq:654321"])
        + plain("some", chats=["qq:group:65*"])
        + '[mcp.servers.gone]\ncommand = "no-such-program-xyz"\n'
    )
    host = boot(CONTROLLED + servers)
    host.wait_for_tools("mcp_open_pid", "mcp_asking_pid")
    return host


def group(number: str) -> dict[str, Any]:
    """Return the context of a group."""
    return {"platform": "qq", "group_id": number, "is_group_chat": True}


def test_two_chats_see_different_tools_and_a_forbidden_call_is_refused(owned: RealHost) -> None:
    """Also when the model insists."""
    first, second = owned.tools(**group("123456")), owned.tools(**group("654321"))
    assert "mcp_here_pid" in first
    assert "mcp_there_pid" not in first
    assert "mcp_there_pid" in second
    assert "mcp_here_pid" not in second
    assert not owned.call("mcp_there_pid", {}, **group("123456"))["success"]
    assert "mcp_some_pid" in first, "the host lists no finer than by whole groups where a pattern is given"
    for _ in range(2):
        refused = owned.call("mcp_some_pid", {}, **group("123456"), user_id="1")
        assert not refused["success"]
        assert "not allowed in this chat" in refused["history"]
    assert owned.call("mcp_some_pid", {}, **group("654321"), user_id="1")["success"]


def test_the_owner_is_answered_and_others_are_not(owned: RealHost) -> None:
    """`/mcp` shows servers, states and reasons; what a stranger writes stays an ordinary message."""
    assert not owned.write("/mcp", user=STRANGER)
    assert not owned.write("/mcp off open", user=STRANGER)
    assert owned.heard() == []
    owned.call("mcp_open_pid", {}, platform="qq", user_id="5", group_id="123456")
    assert owned.write("/mcp", user=OWNER)
    status = owned.ask("/mcp", OWNER, "● open：就绪")
    assert status.startswith("MCP 服务器 6 个")
    assert re.search(r"● open：就绪，4 个工具，调用 1 次，失败 0 次，中位用时 \d+ 毫秒", status)
    assert "○ gone：失败，0 个工具\n  原因：program not found: no-such-program-xyz" in status
    assert owned.write("/mcp tools open", user=OWNER)
    assert "mcp_open_pid（调用 1 次" in owned.wait_to_hear("mcp_open_slow")
    assert owned.write("/mcp call mcp_open_pid", user=OWNER)
    assert re.search(r"mcp_open_pid（\d+ 毫秒）：\n\d+", owned.wait_to_hear("毫秒）：\n", 30))
    assert owned.write("/mcp reload", user=OWNER)
    owned.wait_to_hear("已重新读取")
    assert owned.write("/mcp nonsense", user=OWNER)
    owned.wait_to_hear("/mcp on|off")
    assert not owned.write("/mcpx", user=OWNER)


def test_a_call_that_needs_consent_waits_for_the_owner(owned: RealHost) -> None:
    """The stranger's yes does not count; no and silence refuse."""
    where = {"platform": "qq", "user_id": "5", "group_id": "123456", "stream_id": "a-stream"}
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(owned.call, "mcp_asking_slow", {"seconds": 0}, **where)
        question = owned.wait_to_hear("asking 的工具 slow")
        assert '{"seconds":0}' in question.replace(" ", "")
        assert not owned.write("/mcp yes 1", user=STRANGER)
        assert not asked.done()
        assert owned.write("/mcp yes 1", user=OWNER)
        assert asked.result(60)["content"] == "slept 0 s"
        refused = pool.submit(owned.call, "mcp_asking_slow", {"seconds": 0}, **where)
        owned.wait_to_hear("/mcp yes 2")
        owned.write("/mcp no", user=OWNER)
        answer = refused.result(60)
        assert not answer["success"]
        assert "needs the owner's consent for each call; it was refused" in answer["history"]
        silent = owned.call("mcp_asking_slow", {"seconds": 0}, **where)
        assert "there was no answer within 20 s" in silent["history"]
    assert owned.call("mcp_asking_pid", {}, **where)["success"]


def test_a_user_who_calls_too_often_is_told_to_wait_and_a_picture_reaches_the_chat(owned: RealHost) -> None:
    """The limit is the user's own."""
    where = {"platform": "qq", "group_id": "123456", "stream_id": "a-stream"}
    shown = owned.call("mcp_open_image", {}, **where, user_id="7")
    assert "[1 个图片或音频已直接发到聊天里]" in shown["content"]
    assert len(owned.heard("image")) == 1
    for _ in range(2):
        assert owned.call("mcp_open_pid", {}, **where, user_id="7")["success"]
    refused = owned.call("mcp_open_pid", {}, **where, user_id="7")
    assert "takes no more than 3 calls within 60 s by one user" in refused["history"]
    assert owned.call("mcp_open_pid", {}, **where, user_id="8")["success"]


def test_a_server_is_switched_off_in_the_chat_and_stays_off(owned: RealHost) -> None:
    """Also after the plugin was loaded again; and comes back."""
    owned.call("mcp_asking_pid")
    owned.write("/mcp off open", user=OWNER)
    owned.wait_to_hear("open 已关闭")
    owned.wait_for_tools("mcp_asking_pid", without=["mcp_open_pid"])
    owned.ask("/mcp", OWNER, "● asking：就绪，4 个工具，调用 1 次")
    owned.reload()
    owned.wait_for_tools("mcp_asking_pid", without=["mcp_open_pid"])
    assert "已用 /mcp off 关闭，/mcp on open 打开" in owned.ask("/mcp", OWNER, "– open：停用")
    owned.write("/mcp on open", user=OWNER)
    owned.wait_for_tools("mcp_asking_pid", "mcp_open_pid")


def test_an_edit_adds_a_server_while_a_long_call_of_another_finishes(boot: Boot, plain: Plain) -> None:
    """No restart, and nobody's answer is lost."""
    host = boot(CONTROLLED + plain("old"))
    host.wait_for_tools("mcp_old_slow")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(host.call, "mcp_old_slow", {"seconds": 12})
        time.sleep(1)
        begin = time.monotonic()
        host.write_config(CONTROLLED + plain("old") + plain("new"))
        host.wait_for_tools("mcp_new_pid", seconds=EDITED_SECONDS)
        print(f"\nthe added server was offered after {time.monotonic() - begin:.1f} s")
        assert not running.done()
        assert running.result(60)["content"] == "slept 12 s"


def test_an_edit_that_changes_no_tool_reloads_nothing(boot: Boot, plain: Plain) -> None:
    """It takes effect in the running plugin."""
    host = boot(plain("s"))
    host.wait_for_tools("mcp_s_pid")
    reloads = host.logs().count(RELOADING)
    host.write_config(CONTROLLED + plain("s"))
    host.ask("/mcp", OWNER, "● s：就绪")
    assert host.logs().count(RELOADING) == reloads


def test_the_page_shows_servers_tools_and_calls_and_its_buttons_work(owned: RealHost) -> None:
    """What the web UI asks for; what it looks like is shown by `make test-webui`."""
    page = owned.page()["pages"][0]
    assert page["title"] == "MCP 服务器"
    owned.ask("/mcp", OWNER, "● open：就绪")
    shown = owned.page("mcp_overview")
    servers = {one["name"]: one for one in shown["servers"]}
    assert servers["open"]["state"] == "就绪"
    assert "no-such-program-xyz" in servers["gone"]["reason"]
    assert shown["tokens"] > 0
    answer = owned.page("mcp_try_tool", tool="mcp_open_kwargs", arguments='{"platform": "测试"}')
    assert "测试" in answer["message"] or "\\u6d4b" in answer["message"]
    shown = owned.page("mcp_overview")
    assert shown["recent"][0]["tool"] == "kwargs"
    assert shown["notice"] == answer["message"]
    assert sum(hour["calls"] for hour in shown["hours"]) == len(shown["recent"])
    wrong = owned.page("mcp_try_tool", tool="mcp_open_pdi", arguments="{}")
    assert "mcp_open_pid" in wrong["message"]
    added = owned.page("mcp_add_server", name="added", command="no-such-thing --x 'a b'", env="K=${UNSET_VARIABLE}")
    assert "已把 added 写入 config.toml" in added["message"]
    text = (owned.plugin / "config.toml").read_text(encoding="utf-8")
    assert text.startswith(CONTROLLED)
    assert 'args = ["--x", "a b"]' in text
    assert wait_for(lambda: "added" in str(owned.page("mcp_overview")["servers"]), EDITED_SECONDS)
    assert "已经有叫 added" in owned.page("mcp_add_server", name="added", command="x")["message"]
    assert "其中一个" in owned.page("mcp_add_server", name="b")["message"]
