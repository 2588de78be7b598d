"""The register of a session's requests, and which of them a response is for.

Some servers name no request in their responses, and some respond even to notifications. A response
without an id is a guess, and a wrong guess gives a caller the data of another: so one is matched only
where nothing else can be meant.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import RpcError
from .framing import Message

METHOD_NOT_FOUND = -32601
INVALID_REQUEST = -32600
PARSE_ERROR = -32700
_OF_NOTIFICATIONS = (METHOD_NOT_FOUND, INVALID_REQUEST)
"""Errors with which servers respond to a notification that they take for a request."""
_NAMELESS_BY_NATURE = (PARSE_ERROR, INVALID_REQUEST)
"""Errors of requests whose id the server could not read (JSON-RPC 2.0, section 5)."""
_MAX_ID_CHARS = 19

Result = asyncio.Future[dict[str, Any]]
"""Gives the raw result of a request, or raises `RpcError`, or `ConnectionError` if the session ends first."""


@dataclass(eq=False)
class Request:
    """A request of ours on one session. Its id is its progress token, too."""

    id: int
    method: str
    result: Result
    progress_at: float = 0.0
    """When it was begun or progress was last notified, in seconds of the loop's clock."""
    sent: bool = False
    """Whether the server may have received it."""
    cancelled: bool = False
    forgotten: bool = False
    """Whether its result is of no use any more, though the server may still respond."""
    notified_before: int = 0
    """How many notifications had left before it."""

    def resolve(self, response: Message) -> None:
        """Set the result from a response in standard form, unless there is one."""
        if self.result.done():
            return
        error = response.get("error")
        if error is None:
            self.result.set_result(response["result"])
        else:
            self.result.set_exception(RpcError(error["message"], code=error["code"], data=error.get("data")))

    def fail(self, error: Exception) -> None:
        """Set an exception as the result, unless there is a result."""
        if not self.result.done():
            self.result.set_exception(error)


class Correlator:
    """All requests of one session that have no response yet, by id."""

    def __init__(self) -> None:
        self._by_id: dict[int, Request] = {}
        self._last_id = 0
        self._notified = 0
        self._acknowledged = 0
        """How many notifications have left, and how many of them the server will not respond to any more."""
        self._named: set[str] = set()
        """The methods of requests whose ids the server has used in a response."""
        self._names_errors = False

    def __iter__(self) -> Iterator[Request]:
        return iter(self._by_id.values())

    def begin(self, method: str, result: Result) -> Request:
        """Register a request under the next id. Ids begin with 1: some servers take 0 for none."""
        self._last_id += 1
        request = self._by_id[self._last_id] = Request(self._last_id, method, result)
        return request

    def get(self, request_id: object) -> Request | None:
        """Return the request with exactly this id, None if it has a response or its result is of no use."""
        request = self._by_id.get(request_id) if isinstance(request_id, int) else None
        return None if request is None or request.forgotten else request

    def mark_sent(self, message: Mapping[str, object]) -> None:
        """Note that a message has left: from now on the server may have acted on it."""
        request_id = message.get("id")
        if request_id is None:
            self._notified += 1
        elif (request := self.get(request_id)) is not None:
            request.sent, request.notified_before = True, self._notified

    def may_have_run(self, request: Request) -> bool:
        """Tell whether the server can have acted on a request."""
        return request.sent or request.id not in self._by_id

    def cancel(self, request: Request, reason: str) -> Message | None:
        """Return the notification that cancels a request; None if it needs none, or has had one."""
        if not request.sent or request.cancelled or self.get(request.id) is None:
            return None
        request.cancelled = True
        params = {"requestId": request.id, "reason": reason}
        return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}

    def take(self, name: object, *, is_error: bool) -> Request | None:
        """Remove the request that a response names; None if there is none that waits for it."""
        request_id = request_number(name)
        request = self._by_id.get(request_id) if request_id is not None else None
        if request is None or not request.sent:
            return None
        del self._by_id[request.id]
        self._named.add(request.method)
        self._names_errors = self._names_errors or is_error
        # Servers respond in order, or not at all.
        self._acknowledged = max(self._acknowledged, request.notified_before)
        return None if request.forgotten else request

    def take_out(self, request_id: int) -> Request | None:
        """Remove a request that is settled by something else than a response with its id; None as above."""
        request = self._by_id.get(request_id)
        if request is None or not request.sent:
            return None
        del self._by_id[request_id]
        return None if request.forgotten else request

    def meant_by_result(self, result: object) -> int | None:
        """Return the id of the request that a result without an id is for, None if that is not certain.

        An empty result, or a bare true, is taken for the response to a `ping` or a notification first;
        a result with content never is.
        """
        pings = [request.id for request in self if request.sent and request.method == "ping"]
        if result is None or isinstance(result, bool) or result == {}:
            if pings and not self._named:
                return pings[0]
            if self._acknowledge():
                return None
            if pings:
                return pings[0]
        return self._only_other_than_ping()

    def _only_other_than_ping(self) -> int | None:
        """Return the one open request that is not a `ping`, if the server names no responses to its method."""
        others = [request for request in self if request.sent and request.method != "ping"]
        return others[0].id if len(others) == 1 and others[0].method not in self._named else None

    def meant_by_error(self, code: object) -> int | None:
        """Return the id of the request that an error without an id probably is for, or None.

        The match is tentative: a proper response may still follow.
        """
        sent = [request_id for request_id, request in self._by_id.items() if request.sent]
        if code in _OF_NOTIFICATIONS and self._acknowledge():
            # A ping costs nothing to fail, and servers that do not know it respond like this, too.
            sent = [request_id for request_id in sent if self._by_id[request_id].method == "ping"]
        elif code != METHOD_NOT_FOUND:  # a ping fails in no other way
            sent = [request_id for request_id in sent if not self._by_id[request_id].forgotten]
        if len(sent) != 1 or (self._names_errors and code not in _NAMELESS_BY_NATURE):
            return None
        return sent[0]

    def _acknowledge(self) -> bool:
        """Count a response as one to a notification; tell whether a notification has left that can have it."""
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
