"""Answers that name no request: they count where nothing else can be meant."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_bridge.transport.correlation import Correlator
from mcp_bridge.transport.filter import MessageFilter
from tests.support.registered import begin

REAL = {"content": [{"type": "text", "text": "real"}]}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Session:
    """The requests of a session, counted from 0, and the ids of those that responses are matched with."""

    def __init__(self) -> None:
        self.requests = Correlator()
        self.filter = MessageFilter(self.requests)

    def notify(self) -> None:
        self.requests.mark_sent(INITIALIZED)

    def ask(self, number: int, method: str = "tools/call", *, sent: bool = True) -> None:
        assert begin(self.requests, method, sent=sent).id == number + 1

    def forget(self, method: str) -> None:
        for request in self.requests:
            request.forgotten = request.forgotten or request.method == method

    def answer(self, number: int | None, **body: Any) -> int | None:
        """Return the request that the response is matched with."""
        named = None if number is None else number + 1
        request = self.filter.incoming({"jsonrpc": "2.0", "id": named, **body}).request
        return None if request is None else request.id - 1

    def fail(self, code: int) -> int | None:
        """Return the request that an error without an id fails if no better response comes."""
        doubtful = self.filter.incoming({"jsonrpc": "2.0", "id": None, "error": {"code": code}}).doubtful
        request = None if doubtful is None else self.filter.unreadable(doubtful).request
        return None if request is None else request.id - 1


def handshaken(*, named: bool = True) -> Session:
    session = Session()
    session.ask(0, "initialize")
    assert session.answer(0 if named else None, result={"protocolVersion": "x"}) == 0
    session.notify()
    return session


@pytest.mark.parametrize("empty", [{}, None, True])
def test_an_empty_result_for_a_notification_is_no_answer_to_the_call_behind_it(empty: Any) -> None:
    session = handshaken()
    session.ask(1)
    assert session.answer(None, result=empty) is None
    assert session.answer(None, result=REAL) == 1


def test_an_empty_result_without_an_id_is_not_taken_for_the_first_listing() -> None:
    session = handshaken()
    session.ask(1, "tools/list")
    assert session.answer(None, result={}) is None
    assert session.answer(1, result={"tools": []}) == 1


def test_an_empty_result_counts_where_each_notification_has_had_its_own() -> None:
    session = handshaken(named=False)
    session.ask(1)
    assert session.answer(None, result={}) is None
    assert session.answer(None, result={}) == 1


@pytest.mark.parametrize("named", [True, False])
def test_a_ping_that_was_forgotten_may_still_be_answered_and_so_is_the_call_after_it(named: bool) -> None:
    session = handshaken(named=named)
    session.ask(1, "ping")
    session.forget("ping")
    session.ask(2)
    assert session.answer(None, result={}) is None
    assert session.answer(None, result=REAL) == 2


def test_an_empty_result_without_an_id_after_a_forgotten_ping_is_not_taken_for_that_of_a_call() -> None:
    session = handshaken()
    session.ask(1, "ping")
    assert session.answer(1, result={}) == 1
    session.ask(2, "ping")
    session.forget("ping")
    session.ask(3)
    assert session.answer(None, result={}) is None
    assert session.answer(None, result=REAL) == 3


def test_a_ping_that_is_never_answered_keeps_no_failure_from_its_call() -> None:
    session = handshaken()
    session.ask(1, "ping")
    session.forget("ping")
    session.ask(2)
    assert session.fail(-32603) == 2


def test_a_server_that_names_such_answers_is_not_believed_when_it_does_not() -> None:
    session = handshaken()
    session.ask(1)
    assert session.answer(1, result=REAL) == 1
    session.ask(2)
    assert session.answer(None, result=REAL) is None
    assert session.answer(2, result=REAL) == 2


@pytest.mark.parametrize("code", [-32601, -32600])
def test_an_error_for_a_notification_ends_no_call(code: int) -> None:
    session = handshaken()
    session.ask(1)
    assert session.fail(code) is None
    assert session.fail(code) == 1


def test_an_error_without_an_id_ends_the_call_that_came_after_an_answered_ping() -> None:
    session = handshaken()
    session.ask(1, "ping")
    assert session.answer(1, result={}) == 1
    session.ask(2)
    assert session.fail(-32601) == 2


def test_a_server_that_tells_all_failures_without_a_name_ends_the_call_that_fails() -> None:
    session = handshaken()
    session.ask(1, "ping")
    assert session.fail(-32601) == 1  # whether for the ping or for the notification
    session.ask(2)
    assert session.fail(-32603) == 2
    session.ask(3)
    session.ask(4)
    assert session.fail(-32603) is None


def test_a_doubt_ends_with_the_request_that_it_was_about() -> None:
    session = handshaken()
    session.ask(1)
    doubtful = session.filter.incoming({"id": None, "error": {"code": -32603, "message": "m"}}).doubtful
    assert doubtful is not None
    assert session.answer(1, result=REAL) == 1
    session.ask(2)
    assert session.filter.unreadable(doubtful).request is None
    assert session.answer(2, result=REAL) == 2


def test_an_error_without_an_id_ends_only_a_call_that_was_sent_before() -> None:
    session = handshaken()
    assert session.fail(-32603) is None
    session.ask(1, sent=False)
    assert session.fail(-32603) is None
    session.requests.mark_sent({"id": 2})
    assert session.fail(-32603) == 1


def test_a_server_that_names_its_errors_is_believed_only_where_it_could_not_read_the_name() -> None:
    session = handshaken()
    session.ask(1)
    assert session.answer(1, error={"code": -32603, "message": "m"}) == 1
    session.ask(2)
    assert session.fail(-32603) is None
    assert session.fail(-32700) == 2
