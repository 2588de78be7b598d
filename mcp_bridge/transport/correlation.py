"""The requests of one session that have no answer yet, and which of them an answer is for.

Some servers name no request in their answers, and some answer even notifications, which nobody
asked them to. An answer without a name is a guess, and a wrong guess gives a caller the data
of another: so it is made only where nothing else can be meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

METHOD_NOT_FOUND = -32601
INVALID_REQUEST = -32600
PARSE_ERROR = -32700
_OF_NOTIFICATIONS = (METHOD_NOT_FOUND, INVALID_REQUEST)
"""What a server says to a notification that it takes for a request."""
_NAMELESS_BY_NATURE = (PARSE_ERROR, INVALID_REQUEST)
"""Errors of requests whose name the server could not read (JSON-RPC 2.0, section 5)."""
_MAX_ID_CHARS = 19


@dataclass
class Pending:
    """A request that has no answer yet."""

    number: int
    method: str
    token: object = None
    sent: bool = False
    cancelled: bool = False
    forgotten: bool = False
    """Whether nobody waits for it any more, though the server may still answer it."""
    behind: int = 0
    """How many notifications had left before it."""


class Correlator:
    """All of one session, by the ids under which they have left."""

    def __init__(self) -> None:
        self._by_id: dict[int, Pending] = {}
        self._notified = 0
        self._acknowledged = 0
        """How many notifications have left, and how many of them the server will not answer any more."""
        self._named: set[str] = set()
        """The methods of requests that the server has named in an answer."""
        self._names_errors = False

    def add(self, request_id: int, pending: Pending) -> None:
        self._by_id[request_id] = pending

    def get(self, request_id: object) -> Pending | None:
        """Return the request with exactly this id, None if nobody waits for it."""
        pending = self._by_id.get(request_id) if isinstance(request_id, int) else None
        return None if pending is None or pending.forgotten else pending

    def with_token(self, token: object) -> tuple[int, Pending] | None:
        """Return the request with that progress token, and its id."""
        for request_id, pending in self._by_id.items():
            if pending.token == token and not pending.forgotten:
                return request_id, pending
        return None

    def mark_sent(self, message: Mapping[str, object]) -> None:
        """Note that a message has left: from now on the server may have acted on it."""
        request_id = message.get("id")
        if request_id is None:
            self._notified += 1
        elif (pending := self.get(request_id)) is not None:
            pending.sent, pending.behind = True, self._notified

    def forget(self, method: str) -> None:
        """Wait no longer for the answers to such requests; they may still come."""
        for pending in self._by_id.values():
            if pending.method == method:
                pending.forgotten = True

    def take(self, name: object, *, is_error: bool) -> tuple[int, Pending] | None:
        """Take out the request that an answer names; None if nobody waits for it."""
        request_id = request_number(name)
        pending = self._by_id.get(request_id) if request_id is not None else None
        if request_id is None or pending is None or not pending.sent:
            return None
        del self._by_id[request_id]
        self._named.add(pending.method)
        self._names_errors = self._names_errors or is_error
        self._acknowledged = max(self._acknowledged, pending.behind)  # servers answer in order, or not at all
        return None if pending.forgotten else (request_id, pending)

    def take_out(self, request_id: int) -> Pending | None:
        """Take out a request for which the server has sent something else than a named answer; None as above."""
        pending = self._by_id.get(request_id)
        if pending is None or not pending.sent:
            return None
        del self._by_id[request_id]
        return None if pending.forgotten else pending

    def meant_by_result(self, result: object) -> int | None:
        """Return which request a result without a name is for, None if that is not certain.

        One that holds nothing, or just says yes, answers a `ping` or a notification before it answers anything else;
        one that holds something answers neither.
        """
        sent = [request_id for request_id, pending in self._by_id.items() if pending.sent]
        pings = [request_id for request_id in sent if self._by_id[request_id].method == "ping"]
        if result is None or isinstance(result, bool) or result == {}:
            if pings and not self._named:
                return pings[0]
            if self._acknowledge():
                return None
            if pings:
                return pings[0]
        asked = [request_id for request_id in sent if request_id not in pings]
        if len(asked) != 1 or self._by_id[asked[0]].method in self._named:
            return None
        return asked[0]

    def meant_by_error(self, code: object) -> int | None:
        """Return which request an error without a name is for, None if that is not certain.

        Nor is it if one is returned: a better answer to that request may follow.
        """
        sent = [request_id for request_id, pending in self._by_id.items() if pending.sent]
        if code in _OF_NOTIFICATIONS and self._acknowledge():
            # A ping is nobody's loss, and is answered like this, too.
            sent = [request_id for request_id in sent if self._by_id[request_id].method == "ping"]
        elif code != METHOD_NOT_FOUND:  # a ping fails in no other way
            sent = [request_id for request_id in sent if not self._by_id[request_id].forgotten]
        if len(sent) != 1 or (self._names_errors and code not in _NAMELESS_BY_NATURE):
            return None
        return sent[0]

    def _acknowledge(self) -> bool:
        """Take something for the answer to a notification; tell whether one has left that can have it."""
        if self._acknowledged >= self._notified:
            return False
        self._acknowledged += 1
        return True


def is_nameless(request_id: object) -> bool:
    """Tell whether an id can name no request at all."""
    return isinstance(request_id, (bool, list, dict, type(None)))


def request_number(value: object) -> int | None:
    """Return which of our integers an id or a progress token is: servers turn them into text or floats."""
    match value:
        case bool():
            return None
        case int():
            return value
        case float():
            return int(value) if value.is_integer() else None
        case str():
            return int(value) if value.strip().isdecimal() and len(value) < _MAX_ID_CHARS else None
        case _:
            return None
