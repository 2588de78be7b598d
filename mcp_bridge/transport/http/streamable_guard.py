"""The guard of streamable HTTP (specification 2025-03-26 and later)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _sdk
from ...errors import Cause
from ..framing import Message
from .error_response import read_error_response
from .exchange import (
    EVENT_STREAM,
    JSON,
    LAST_EVENT_HEADER,
    Exchange,
    accepted_response,
    event_response,
    json_response,
    read_body,
    stream_response,
)
from .failure import HttpFailure, phrase
from .guard import HttpGuard, RequestFailed
from .messages import PendingRequest, body_answer, error_message, failure_message, is_json, message_event
from .resumption import ATTEMPTS, Resumption, Resumptions
from .stream import EventStream

httpx = _sdk.httpx


class StreamableHttpGuard(HttpGuard):
    """The guard of one session: each POST is answered by its own response, as JSON or as an event stream."""

    def __init__(
        self, network: Any, url: str, *, limit: int, proxy: str | None = None, redact: Callable[[str], str] = str
    ) -> None:
        super().__init__(network, url, limit=limit, proxy=proxy, redact=redact)
        self._resumptions = Resumptions()

    def _begin(self, request: Any) -> Exchange:
        exchange = super()._begin(request)
        exchange.resumption = self._resumptions.find(request.headers.get(LAST_EVENT_HEADER))
        return exchange

    def _addressed(self, exchange: Exchange) -> Any:
        """Return the request with its full address, and with the server's own id of the last event."""
        request = super()._addressed(exchange)
        if exchange.resumption is not None:
            name = LAST_EVENT_HEADER.encode()
            others = [(key, value) for key, value in request.headers.raw if key.lower() != name]
            request.headers = httpx.Headers([*others, (name, exchange.resumption.event_id.encode())])
        return request

    async def _accepted(self, exchange: Exchange) -> Any:
        response = exchange.response
        if exchange.resumption is not None:
            self._require_event_stream(exchange)
        if exchange.has_type(EVENT_STREAM):
            stream = EventStream(exchange, self._limit, self.large_messages, self._resumptions)
            return stream_response(stream, response)
        if exchange.request.method == "DELETE":
            await response.aclose()
            return httpx.Response(204)
        if exchange.pending is None:
            await response.aclose()
            return accepted_response(response)
        body = await read_body(response, self._limit)
        return json_response(self._answer(exchange, exchange.pending, body), response)

    async def _refused(self, exchange: Exchange) -> Any:
        error_response = await read_error_response(exchange)
        if error_response.kind == "answer" and error_response.answer is not None:
            return json_response(error_response.answer, exchange.response)
        raise RequestFailed(error_response.failure(self._shown))

    def _failed(self, exchange: Exchange, failure: HttpFailure) -> Any:
        if exchange.resumption is not None:
            return self._not_resumed(exchange.resumption, failure)
        if exchange.pending is not None:
            return json_response(failure_message(exchange.pending.id, failure))
        return self._unanswered(exchange, failure)

    def _not_resumed(self, resumption: Resumption, failure: HttpFailure) -> Any:
        """Return the response for the SDK to a failed GET for the rest of a stream: try again, or a failed request."""
        resumption.failures += 1
        if failure.status is None and resumption.failures < ATTEMPTS:
            return httpx.Response(503)
        self._resumptions.close(resumption)
        reason = failure.text if failure.status is None else f"the server answered {phrase(failure.status)}"
        text = f"the connection was lost before the answer, and the stream cannot be resumed: {reason}"
        message = failure_message(resumption.pending.id, HttpFailure(text, cause=failure.cause))
        return event_response(message_event(message))

    def _answer(self, exchange: Exchange, pending: PendingRequest, body: bytes | None) -> Message:
        """Return the response in a JSON body, None for one over the limit. Raises `RequestFailed` if it holds none."""
        if body is None:
            return error_message(pending.id, f"the server's answer is longer than {self._limit} bytes")
        answer = body_answer(body, pending)
        if answer is not None:
            return answer
        status = exchange.response.status_code
        text = f"the server answered {status} with {self._content(exchange, body)}, which is not an MCP response"
        hint = "check the url, and whether a login page or a proxy answers instead of the server"
        cause: Cause = "initialize" if pending.method == "initialize" else "content"
        raise RequestFailed(HttpFailure(f"{text}; {hint}", status, cause=cause))

    def _content(self, exchange: Exchange, body: bytes) -> str:
        """Describe a body that holds no response."""
        if not body:
            return "an empty body"
        if exchange.content_type and not exchange.has_type(JSON):
            return f"'{self._shown(exchange.content_type)}'"
        return "JSON that answers no request" if is_json(body) else "broken JSON"
