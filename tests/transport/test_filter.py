"""The filter between server and session: every answer arrives once, every question is answered."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge.transport.correlation import Correlator
from mcp_bridge.transport.filter import MessageFilter
from mcp_bridge.transport.framing import UnreadableAnswer, is_message
from tests.support.registered import begin, waiting


@pytest.mark.parametrize("shape", [3, "3", 3.0])
def test_an_answer_is_recognised_by_its_id_in_any_shape(shape: Any) -> None:
    answer = waiting(2, 3).incoming({"jsonrpc": "2.0", "id": shape, "result": {"a": 1}}).response
    assert answer == {"jsonrpc": "2.0", "id": 3, "result": {"a": 1}}


@pytest.mark.parametrize("odd", [{"id": None}, {}, {"id": [3]}, {"id": True}])
def test_an_answer_without_an_id_goes_to_the_only_one_who_waits(odd: Any) -> None:
    answer = {"jsonrpc": "2.0", "result": {"a": 1}, **odd}
    assert (waiting(3).incoming(answer).response or {})["id"] == 3
    assert waiting(2, 3).incoming(answer).response is None


def test_an_error_without_an_id_counts_only_if_nothing_better_comes() -> None:
    made = waiting(3)
    incoming = made.incoming({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})
    assert incoming.response is None
    assert incoming.doubtful == UnreadableAnswer(3, "Parse error")
    assert made.incoming({"jsonrpc": "2.0", "id": 3, "result": {}}).response is not None
    assert made.unreadable(incoming.doubtful).response is None
    assert "Parse error" in (waiting(3).unreadable(incoming.doubtful).response or {})["error"]["message"]


def test_an_answer_to_an_unknown_id_reaches_no_call() -> None:
    for stranger in (99, "no-such", "x3"):
        assert waiting(3).incoming({"jsonrpc": "2.0", "id": stranger, "error": {"code": 1}}).response is None


def test_a_second_or_an_unasked_answer_is_dropped() -> None:
    made = waiting(1)
    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert made.incoming(answer).response is not None
    assert made.incoming(answer).response is None
    assert made.incoming({"id": 99, "result": {}}).response is None


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
    assert waiting(1).incoming({"id": 1, **answer}).response == {"jsonrpc": "2.0", "id": 1, **expected}


def test_an_unreadable_answer_becomes_an_error_for_its_call() -> None:
    forward = waiting(1, 2).unreadable(UnreadableAnswer("2", "nested too deeply")).response or {}
    assert forward["id"] == 2
    assert "nested too deeply" in forward["error"]["message"]


def test_pings_are_answered_and_unknown_requests_refused() -> None:
    made = MessageFilter(Correlator())
    ask = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
    assert made.incoming(ask).reply == {"jsonrpc": "2.0", "id": "p", "result": {}}
    for method in ("roots/list", "sampling/createMessage", "elicitation/create", "x/y"):
        reply = made.incoming({"id": 1, "method": method}).reply or {}
        assert reply["error"]["code"] == -32601
        assert method in reply["error"]["message"]
    assert made.capabilities() == {}


def test_roots_are_announced_and_answered_only_if_configured() -> None:
    made = MessageFilter(Correlator(), roots=("file:///a",))
    assert made.capabilities() == {"roots": {}}
    reply = made.incoming({"id": 1, "method": "roots/list"}).reply or {}
    assert reply["result"] == {"roots": [{"uri": "file:///a"}]}


def test_elicitation_accepts_the_servers_own_defaults_if_the_owner_says_so() -> None:
    made = MessageFilter(Correlator(), elicitation="defaults")
    schema = {"properties": {"a": {"default": 0}, "b": {"type": "string"}, "c": 5}}
    reply = made.incoming({"id": 1, "method": "elicitation/create", "params": {"requestedSchema": schema}}).reply or {}
    assert reply["result"] == {"action": "accept", "content": {"a": 0}}


def test_notifications_reach_those_who_care_and_odd_ones_nobody() -> None:
    heard: list[Any] = []

    class Listening:
        def on_progress(self, request_id: int | None, text: str) -> None:
            heard.append((request_id, text))

        def on_list_changed(self) -> None:
            heard.append("changed")

        def on_log(self, level: int, text: str) -> None:
            heard.append((level, text))

    made = MessageFilter(Correlator(), listener=Listening())
    for method, params in (
        ("notifications/progress", {"progressToken": 7, "progress": "half"}),
        ("notifications/tools/list_changed", None),
        ("notifications/message", {"level": "error", "data": "a\x1b[31mb"}),
        ("notifications/whatever", {"x": 1}),
        ("notifications/progress", "odd"),
    ):
        assert made.incoming({"jsonrpc": "2.0", "method": method, "params": params}).response is None
    assert heard == [(7, "half"), "changed", (40, "ab"), (None, "")]


def test_exactly_one_cancellation_leaves_for_a_request() -> None:
    requests = Correlator()
    request = begin(requests)
    message = requests.cancel(request, "timeout") or {}
    assert message["method"] == "notifications/cancelled"
    assert message["params"] == {"requestId": request.id, "reason": "timeout"}
    assert requests.cancel(request, "again") is None


def test_a_request_that_has_its_response_is_not_cancelled() -> None:
    requests = Correlator()
    request = begin(requests)
    MessageFilter(requests).incoming({"id": request.id, "result": {}})
    assert requests.cancel(request, "timeout") is None
    assert requests.may_have_run(request)


def test_a_call_that_never_left_is_known_and_not_cancelled() -> None:
    requests = Correlator()
    request = begin(requests, sent=False)
    assert not requests.may_have_run(request)
    assert requests.cancel(request, "timeout") is None
    requests.mark_sent({"id": request.id})
    assert requests.may_have_run(request)


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
    made = waiting(1, 2, elicitation="defaults", roots=())
    answered: list[int] = []
    for message in traffic:
        incoming = made.incoming(message)
        if incoming.response is not None:
            assert ("result" in incoming.response) != ("error" in incoming.response)
            answered.append(incoming.response["id"])
        if incoming.reply is not None:
            assert ("result" in incoming.reply) != ("error" in incoming.reply)
    assert len(answered) == len(set(answered))
