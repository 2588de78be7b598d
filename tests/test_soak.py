"""That the long run would notice: a judge that cannot condemn is worth nothing."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from mcp_bridge.errors import CallTimeout, PermissionDenied, ServerUnavailable, ToolNotFound
from mcp_bridge.tools.result import ToolResult
from soak.fleet import MARK_VARIABLE, Fleet, Rules
from soak.judge import KEPT_FAULTS, KEPT_KINDS, Call, Judge
from soak.memory import MIB, Memory
from soak.options import Options, duration, parse
from soak.pulse import Pulse
from soak.remains import Remains
from soak.report import Report

OWN, OTHER = "soak-ab-1", "soak-ab-2"
CHAT = "qq:group:1"
RULES = Rules(frozenset({("s", "big")}), frozenset({"s"}), frozenset({"off"}))


def call(tool: str = "tell", strategy: str = "chat", chat: str = CHAT, server: str = "s") -> Call:
    return Call(server, strategy, tool, chat, OWN, RULES)


def said(token: str = OWN, calls: int = 1, chats: tuple[str, ...] = (CHAT,), error: bool = False) -> ToolResult:
    return ToolResult(json.dumps({"token": token, "calls": calls, "chats": chats}), is_error=error)


@pytest.mark.parametrize(
    ("one", "result"),
    [
        (call(), said(calls=7)),
        (call(strategy="fresh"), said()),
        (call(strategy="shared"), said(calls=9, chats=(CHAT, "qq:group:2"))),
        (call("fail"), said(error=True)),
        (call("refuse"), ToolResult(f"refused: {OWN} (code -32000)", is_error=True)),
        (call("more"), ToolResult(f"there is no such tool now: {OWN}", is_error=True)),
        (call("hang"), ToolResult("the server's answer cannot be used: it is broken", is_error=True)),
    ],
)
def test_what_is_right_is_no_fault(one: Call, result: ToolResult) -> None:
    judge = Judge()
    judge.answered(one, result)
    assert (judge.faults, judge.calls) == ([], 1)


@pytest.mark.parametrize(
    ("one", "result", "what"),
    [
        (call(), said(OTHER), "got the answer to"),
        (call(strategy="shared"), ToolResult("{}"), "something else than an answer"),
        (call(strategy="fresh"), said(calls=2), "session that another call had used"),
        (call(), said(chats=("qq:group:2", CHAT)), "the state of another chat"),
        (call("fail"), said(), "a failure for a success"),
        (call("hang"), said(), "never answers"),
        (call("slow"), ToolResult(" ", is_error=True), "without a word"),
        (call("big"), ToolResult(f"{OWN} x {OWN}"), "against the owner's rules"),
        (call(chat="qq:private:1"), said(chats=("qq:private:1",)), "against the owner's rules"),
        (call(server="off"), said(), "against the owner's rules"),
        (Call("s", "chat", "big", CHAT, OWN, Rules()), ToolResult(f"{OWN} xxx"), "another text"),
    ],
)
def test_an_answer_that_is_wrong_is_a_fault(one: Call, result: ToolResult, what: str) -> None:
    judge = Judge()
    judge.answered(one, result)
    assert any(what in fault for fault in judge.faults)


@pytest.mark.parametrize(
    ("one", "error"),
    [
        (call(), ServerUnavailable("tool 'tell' of MCP server 's': the server stopped (exit status 1)", server="s")),
        (call("hang"), CallTimeout("tool 'hang' of MCP server 's': no answer for 2 s", server="s")),
        (call(chat="qq:private:1"), PermissionDenied("tool 'tell' of MCP server 's' is not allowed", server="s")),
        (call("more"), ToolNotFound("there is no tool 'more' on MCP server 's'", server="s")),
        (call("big"), ToolNotFound("there is no tool 'big' on MCP server 's'", server="s")),
    ],
)
def test_a_failure_with_a_cause_is_no_fault(one: Call, error: Exception) -> None:
    judge = Judge()
    judge.failed(one, error)
    assert (judge.faults, judge.calls) == ([], 1)


@pytest.mark.parametrize(
    ("one", "error", "what"),
    [
        (call(), ValueError("x"), "something else than an error of ours"),
        (call(), ServerUnavailable("the server stopped (exit status 1)", server="s"), "without the name"),
        (call(), ServerUnavailable("tool of MCP server 's': it was killed by SIGKILL"), "without the name"),
        (call(), ServerUnavailable("tool 'tell' of MCP server 's': ", server="s"), "without a cause"),
        (call(), ServerUnavailable("MCP server 's': the session was closed", server="s"), "without a cause"),
        (call("die"), CallTimeout("tool 'die' of MCP server 's': no answer for 2 s", server="s"), "that was dead"),
        (call(), PermissionDenied("tool 'tell' of MCP server 's' is not allowed", server="s"), "that may call it"),
        (call(), ToolNotFound("there is no tool 'tell' on MCP server 's'", server="s"), "as not existing"),
        (call(), CallTimeout(f"MCP server 's': {OTHER} took too long", server="s"), "the words of another call"),
    ],
)
def test_a_failure_that_says_too_little_is_a_fault(one: Call, error: Exception, what: str) -> None:
    judge = Judge()
    judge.failed(one, error)
    assert any(what in fault for fault in judge.faults)


async def test_what_is_late_on_a_machine_that_is_too_busy_is_counted_and_not_judged() -> None:
    pulse = Pulse()
    judge = Judge(lambda: pulse.steady)
    late = CallTimeout("tool 'die' of MCP server 's': no answer for 2 s", server="s")
    beating = asyncio.create_task(pulse.run())
    await asyncio.sleep(0.1)
    judge.failed(call("die"), late)
    assert (judge.fault_count, judge.not_judged) == (1, 0)
    time.sleep(0.6)  # noqa: ASYNC251 - the loop is to stall
    await asyncio.sleep(0.1)
    judge.failed(call("die"), late)
    assert (judge.fault_count, judge.not_judged, pulse.stalls) == (1, 1, 1)
    beating.cancel()


def test_a_run_of_days_does_not_grow_by_what_it_counts() -> None:
    judge = Judge()
    for number in range(1000):
        letters = "".join(chr(97 + int(digit)) for digit in str(number))
        judge.failed(call(), ServerUnavailable(f"MCP server 's': {letters}", server="s"))
        judge.fault(letters)
    assert len(judge.faults) == KEPT_FAULTS
    assert len(judge.kinds) <= KEPT_KINDS + 1
    assert judge.calls == 1000


def grown(per_hour: float, seconds: float) -> Memory:
    return Memory([(now, int((100 + per_hour * now / 3600) * MIB)) for now in range(0, int(seconds) + 1, 60)])


def report(memory: Memory, judge: Judge | None = None) -> Report:
    return Report(Options(600, 1, 1.0, 32, None), judge or Judge(), memory, Pulse(), {})


def test_growth_is_a_fault_once_it_can_be_told() -> None:
    nothing = Remains(0, 0, 5, 1, 1, 0)
    for memory, passes in ((grown(0, 600), True), (grown(60, 600), False), (grown(60, 200), True)):
        one = report(memory)
        one.finish(nothing, nothing)
        assert one.passed is passes
    slope = grown(60, 600).slope_mib_per_hour
    assert slope is not None
    assert abs(slope - 60) < 1
    assert grown(60, 200).growth_mib is None


@pytest.mark.parametrize("name", ["children", "strays", "descriptors", "tasks", "threads", "unfinished_files"])
def test_whatever_is_left_is_a_fault(name: str) -> None:
    before = Remains(1, 0, 5, 1, 1, 0)
    one = report(Memory())
    one.finish(before, Remains(**{**vars(before), name: 9}))
    assert not one.passed
    assert name in one.table()
    assert one.document()["left"] == {name: 9 - getattr(before, name)}


async def test_a_process_that_left_its_family_is_found_by_its_mark(tmp_path: Path) -> None:
    before = Remains.take("no-such-mark", tmp_path)
    assert before.strays == 0
    assert before.tasks == len(asyncio.all_tasks())
    assert before.children == len(psutil.Process().children(recursive=True))


def test_each_strategy_has_three_servers_and_edits_are_known_to_the_judge() -> None:
    import random

    fleet = Fleet("m", {"fresh_http": 1, "shared_http": 2, "chat_http": 3})
    sessions = [entry["session"] for entry in fleet.plain().values()]
    assert {one: sessions.count(one) for one in sessions} == {"fresh": 3, "shared": 3, "chat": 3}
    seen: set[str] = set()
    for seed in range(50):
        config, rules = fleet.edited(random.Random(seed))
        assert not config.warnings
        servers: dict[str, Any] = {one.name: one for one in config.servers}
        assert not any(one.error for one in servers.values())
        assert {name for name, one in servers.items() if not one.enabled} == rules.disabled
        assert {name for name, one in servers.items() if one.chats} == rules.closed
        assert {(name, tool) for name, one in servers.items() for tool in one.tools.deny} == rules.denied
        assert all(one.env[MARK_VARIABLE] == "m" for one in servers.values() if one.enabled and one.command)
        seen.update(kind for kind in ("denied", "closed", "disabled") if getattr(rules, kind))
    assert seen == {"denied", "closed", "disabled"}


def test_the_time_is_written_as_people_say_it() -> None:
    assert [duration(text) for text in ("90", "60s", "10m", "8h", "0.5h")] == [90, 60, 600, 28800, 1800]
    for text in ("", "10 minutes", "-5s", "0"):
        with pytest.raises(ValueError, match="is not a duration"):
            duration(text)
    with pytest.raises(SystemExit) as wrong:
        parse(["--time", "soon"])
    assert wrong.value.code == 2
