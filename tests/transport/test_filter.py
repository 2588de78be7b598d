"""The filter between server and session: every answer arrives once, every question is answered."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge.transport.filter import Hooks, MessageFilter, alias
from mcp_bridge.transport.framing import Broken, is_message


def waiting(*ids: int, method: str = "tools/call", **more: Any) -> MessageFilter:
    """Return a filter through which requests with these ids have left."""
    made = MessageFilter(**more)
    for number in ids:
        params = {"_meta": {"progressToken": number, "traceparent": "00-1"}, "name": "x"}
        sent = made.outgoing({"jsonrpc": "2.0", "id": number, "method": alias(method, number), "params": params})
        assert sent == {
            "jsonrpc": "2.0",
            "id": number,
            "method": method,
            "params": {"_meta": {"progressToken": number}, "name": "x"},
        }
        made.sent(sent)
    return made


@pytest.mark.parametrize("shape", [3, "3", 3.0])
def test_an_answer_is_recognised_by_its_id_in_any_shape(shape: Any) -> None:
    answer = waiting(2, 3).incoming({"jsonrpc": "2.0", "id": shape, "result": {"a": 1}}).forward
    assert answer == {"jsonrpc": "2.0", "id": 3, "result": {"a": 1}}


@pytest.mark.parametrize("odd", [{"id": None}, {}, {"id": [3]}, {"id": True}])
def test_an_answer_without_an_id_goes_to_the_only_one_who_waits(odd: Any) -> None:
    answer = {"jsonrpc": "2.0", "result": {"a": 1}, **odd}
    assert (waiting(3).incoming(answer).forward or {})["id"] == 3
    assert waiting(2, 3).incoming(answer).forward is None


def test_an_error_without_an_id_counts_only_if_nothing_better_comes() -> None:
    made = waiting(3)
    incoming = made.incoming({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})
    assert incoming.forward is None
    assert incoming.doubtful == Broken(3, "Parse error")
    assert made.incoming({"jsonrpc": "2.0", "id": 3, "result": {}}).forward is not None
    assert made.broken(incoming.doubtful) is None
    assert "Parse error" in (waiting(3).broken(incoming.doubtful) or {})["error"]["message"]


def test_an_answer_to_an_unknown_id_reaches_no_call() -> None:
    for stranger in (99, "no-such", "x3"):
        assert waiting(3).incoming({"jsonrpc": "2.0", "id": stranger, "error": {"code": 1}}).forward is None


def test_a_second_or_an_unasked_answer_is_dropped() -> None:
    made = waiting(1)
    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert made.incoming(answer).forward is not None
    assert made.incoming(answer).forward is None
    assert made.incoming({"id": 99, "result": {}}).forward is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"result": None}, {"result": {}}),
        ({"result": "text"}, {"result": {"content": "text"}}),
        ({"result": {"a": 1}, "error": None}, {"result": {"a": 1}}),
        (
            {"error": {"code": -1, "message": "m", "data": [1]}},
            {"error": {"code": -1, "message": "m", "data": [1]}},
        ),
        ({"error": {"code": -5}}, {"error": {"code": -5, "message": "error -5 without a message"}}),
        ({"error": "text"}, {"error": {"code": -32603, "message": "text"}}),
        ({"error": {"code": "E1", "message": 5}}, {"error": {"code": -32603, "message": "5"}}),
        ({"result": None, "error": {"code": 1, "message": "m"}}, {"error": {"code": 1, "message": "m"}}),
    ],
)
def test_malformed_answers_reach_the_caller_at_once(answer: Any, expected: Any) -> None:
    assert waiting(1).incoming({"id": 1, **answer}).forward == {"jsonrpc": "2.0", "id": 1, **expected}


def test_an_unreadable_answer_becomes_an_error_for_its_call() -> None:
    forward = waiting(1, 2).broken(Broken("2", "nested too deeply")) or {}
    assert forward["id"] == 2
    assert "nested too deeply" in forward["error"]["message"]


def test_pings_are_answered_and_unknown_requests_refused() -> None:
    made = MessageFilter()
    ask = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
    assert made.incoming(ask).reply == {"jsonrpc": "2.0", "id": "p", "result": {}}
    for method in ("roots/list", "sampling/createMessage", "elicitation/create", "x/y"):
        reply = made.incoming({"id": 1, "method": method}).reply or {}
        assert reply["error"]["code"] == -32601
        assert method in reply["error"]["message"]
    assert made.capabilities() == {}


def test_roots_are_announced_and_answered_only_if_configured() -> None:
    made = MessageFilter(roots=("file:///a",))
    assert made.capabilities() == {"roots": {}}
    reply = made.incoming({"id": 1, "method": "roots/list"}).reply or {}
    assert reply["result"] == {"roots": [{"uri": "file:///a"}]}


def test_elicitation_accepts_the_servers_own_defaults_if_the_owner_says_so() -> None:
    made = MessageFilter(elicitation="defaults")
    schema = {"properties": {"a": {"default": 0}, "b": {"type": "string"}, "c": 5}}
    reply = made.incoming({"id": 1, "method": "elicitation/create", "params": {"requestedSchema": schema}}).reply or {}
    assert reply["result"] == {"action": "accept", "content": {"a": 0}}


def test_notifications_reach_those_who_care_and_odd_ones_nobody() -> None:
    heard: list[Any] = []
    hooks = Hooks(
        lambda token, text: heard.append((token, text)),
        lambda: heard.append("changed"),
        lambda level, text: heard.append((level, text)),
    )
    made = MessageFilter(hooks=hooks)
    for method, params in (
        ("notifications/progress", {"progressToken": 7, "progress": "half"}),
        ("notifications/tools/list_changed", None),
        ("notifications/message", {"level": "error", "data": "a\x1b[31mb"}),
        ("notifications/whatever", {"x": 1}),
        ("notifications/progress", "odd"),
    ):
        assert made.incoming({"jsonrpc": "2.0", "method": method, "params": params}).forward is None
    assert heard == [(7, "half"), "changed", (40, "ab"), (None, "")]


def test_exactly_one_cancellation_leaves_and_never_for_initialize() -> None:
    made = waiting(4)
    ours = made.cancelled(4, "timeout") or {}
    assert ours["params"] == {"requestId": 4, "reason": "timeout"}
    assert made.cancelled(4, "again") is None
    theirs = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}}
    assert made.outgoing(theirs) is None
    handshake = waiting(0, method="initialize")
    assert handshake.outgoing({**theirs, "params": {"requestId": 0}}) is None


def test_a_call_that_never_left_is_known_and_not_cancelled() -> None:
    made = MessageFilter()
    made.outgoing({"id": 1, "method": alias("tools/call", 1), "params": {"_meta": {"progressToken": 1}}})
    assert not made.may_have_run(1)
    assert made.cancelled(1, "timeout") is None
    made.sent({"id": 1})
    assert made.may_have_run(1)


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
methods = st.sampled_from(
    ["ping", "roots/list", "elicitation/create", "notifications/progress", "notifications/message", "x"]
)
messages = st.fixed_dictionaries(
    {},
    optional={"jsonrpc": values, "id": values, "method": methods | values, "params": values, "result": values,
              "error": values},
).filter(is_message)  # fmt: skip


@given(st.lists(messages, max_size=8))
def test_no_traffic_raises_and_each_call_is_answered_at_most_once(traffic: list[dict[str, Any]]) -> None:
    """A server gone mad cannot end a session's reader, nor answer a call twice."""
    made = waiting(0, 1, elicitation="defaults", roots=())
    answered: list[int] = []
    for message in traffic:
        incoming = made.incoming(message)
        if incoming.forward is not None:
            assert ("result" in incoming.forward) != ("error" in incoming.forward)
            answered.append(incoming.forward["id"])
        if incoming.reply is not None:
            assert ("result" in incoming.reply) != ("error" in incoming.reply)
    assert len(answered) == len(set(answered))
