"""The guard of the old SSE transport (specification 2024-11-05)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _sdk
from .error_response import read_error_response
from .exchange import Exchange, accepted_response, stream_response
from .failure import HttpFailure
from .guard import HttpGuard, RequestFailed, moved
from .injection import EventInjection, InjectedStream

httpx = _sdk.httpx


class SseGuard(HttpGuard):
    """The guard of one session: all responses arrive on one event stream, opened by a GET.

    The failure of a POST is put into that stream through `injection`.
    """

    def __init__(
        self,
        network: Any,
        url: str,
        *,
        injection: EventInjection,
        limit: int,
        proxy: str | None = None,
        redact: Callable[[str], str] = str,
    ) -> None:
        super().__init__(network, url, limit=limit, proxy=proxy, redact=redact)
        self._injection = injection

    def _begin(self, request: Any) -> Exchange:
        exchange = super()._begin(request)
        if exchange.pending is not None:
            self._injection.pending[str(exchange.pending.id)] = exchange.pending
        return exchange

    def _addressed(self, exchange: Exchange) -> Any:
        """Return the request with its full address: that of the `endpoint` event for a message."""
        if exchange.request.method == "POST" and self._injection.target is not None:
            return moved(exchange.request, self._injection.target)
        return super()._addressed(exchange)

    async def _accepted(self, exchange: Exchange) -> Any:
        if exchange.request.method != "GET":
            await exchange.response.aclose()
            return accepted_response(exchange.response)
        self._require_event_stream(exchange)
        stream = InjectedStream(
            exchange.response, self._stream_failed, self._injection, self._limit, self.large_messages
        )
        return stream_response(stream, exchange.response)

    async def _refused(self, exchange: Exchange) -> Any:
        raise RequestFailed((await read_error_response(exchange)).failure(self._shown))

    def _failed(self, exchange: Exchange, failure: HttpFailure) -> Any:
        if exchange.pending is not None:
            self._injection.fail(exchange.pending, failure)
            return httpx.Response(202)
        if exchange.request.method == "GET":
            self.failure = failure
        return self._unanswered(exchange, failure)

    def _stream_failed(self, failure: HttpFailure) -> None:
        """Keep the first failure of the stream: the ones after it are its consequences."""
        self.failure = self.failure or failure
