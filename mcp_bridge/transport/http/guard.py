"""What stands between the SDK's HTTP transports and the network.

The SDK waits for ever, or ends the session, if a server responds with an HTTP status, an HTML page, half a
stream or a malformed message. A guard gives the SDK a response to each request: the server's own, in a form
that both majors accept, or an error that carries an `HttpFailure`. It also decides where requests may go:
redirects are followed only within their origin.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from ... import _sdk
from ...text.cleaning import clean_label, truncate
from ...text.redaction import public_url
from .addresses import not_followed, origin, redirect_target
from .exchange import EVENT_STREAM, SESSION_HEADER, Exchange
from .failure import HttpFailure, from_exception
from .messages import DETAIL_CHARS, LargeMessages, pending_request

httpx = _sdk.httpx
logger = logging.getLogger(__name__)

MAX_REDIRECTS = 5
DELETE_SECONDS = 2.0
"""How long the DELETE that ends a session may take."""
_VERSION_HEADER = "mcp-protocol-version"
_KEPT_HEADERS = ("authorization", "host")
_KEPT_PREFIXES = ("content-", "mcp-")
"""Headers of a request that `extra_headers` does not replace, in lower case."""


class RequestFailed(Exception):
    """Carries the failure of one HTTP request to where the SDK's response is made."""

    def __init__(self, failure: HttpFailure) -> None:
        super().__init__(failure.text)
        self.failure = failure


class HttpGuard(httpx.AsyncBaseTransport):  # type: ignore[misc,name-defined]
    """An HTTP transport for the SDK's client, over `network`, a transport that knows proxies and certificates.

    `limit` is the longest message taken, in bytes. `redact` masks secrets.
    """

    def __init__(
        self, network: Any, url: str, *, limit: int, proxy: str | None = None, redact: Callable[[str], str] = str
    ) -> None:
        self.redact = redact
        self.large_messages = LargeMessages()
        self.failure: HttpFailure | None = None
        """Why the event stream that all responses arrive on has failed (old SSE only)."""
        self.protocol_version: str | None = None
        """What `initialize` agreed on: named in each request from then on (specification 2025-06-18)."""
        self.extra_headers: dict[str, Mapping[str, str]] = {}
        """Headers for the POST of one JSON-RPC request, by its id as text. Taken out when it is sent."""
        self._network = network
        self._proxy = proxy
        self._limit = limit
        self._public, self._full = httpx.URL(public_url(url)), httpx.URL(url).copy_with(userinfo=b"")

    async def handle_async_request(self, request: Any) -> Any:
        exchange = self._begin(request)
        try:
            return await self._perform(exchange)
        except RequestFailed as failed:
            failure = failed.failure
        except httpx.ProxyError as error:
            proxy = public_url(self._proxy or "")
            text = f"proxy {proxy} refused to connect to {public_url(str(request.url))}: {error}"
            failure = HttpFailure(text, cause="proxy")
        except Exception as error:  # without a response the SDK would wait for ever or end the session
            failure = from_exception(error, str(request.url), self._proxy)
        return self._failed(exchange, failure)

    async def aclose(self) -> None:
        await self._network.aclose()

    @abstractmethod
    async def _accepted(self, exchange: Exchange) -> Any:
        """Return the response for the SDK where the server's has a status of success. Raises `RequestFailed`."""

    @abstractmethod
    async def _refused(self, exchange: Exchange) -> Any:
        """Return the response for the SDK where the server's has a status of 400 or above. Raises `RequestFailed`."""

    @abstractmethod
    def _failed(self, exchange: Exchange, failure: HttpFailure) -> Any:
        """Return the response for the SDK where the HTTP request failed."""

    def _begin(self, request: Any) -> Exchange:
        return Exchange(request, pending_request(request.content) if request.method == "POST" else None)

    async def _perform(self, exchange: Exchange) -> Any:
        """Send a request and return the response for the SDK. Raises `RequestFailed`, and what the network raises."""
        exchange.request = self._addressed(exchange)
        self._add_headers(exchange)
        sent = self._send(exchange.request)
        if exchange.request.method == "DELETE":
            sent = asyncio.wait_for(sent, DELETE_SECONDS)
        exchange.response = await sent
        try:
            return await self._received(exchange)
        except Exception:
            await exchange.response.aclose()
            raise

    def _addressed(self, exchange: Exchange) -> Any:
        """Return the request with its full address. The SDK and its client log addresses, so they know no query."""
        request = exchange.request
        return moved(request, self._full) if request.url == self._public else request

    def _add_headers(self, exchange: Exchange) -> None:
        headers = exchange.request.headers
        extra = self.extra_headers.pop(str(exchange.pending.id), {}) if exchange.pending is not None else {}
        for name, value in extra.items():
            kept = name.lower() in _KEPT_HEADERS or name.lower().startswith(_KEPT_PREFIXES)
            if not (kept and name in headers):
                headers[name] = value
        if self.protocol_version is not None:
            headers.setdefault(_VERSION_HEADER, self.protocol_version)

    async def _send(self, request: Any) -> Any:
        """Send a request, following redirects within its origin that keep its method."""
        for _ in range(MAX_REDIRECTS):
            response = await self._network.handle_async_request(request)
            response.request = request
            keeps_method = response.status_code in (307, 308) or request.method == "GET"
            target = redirect_target(response) if response.is_redirect and keeps_method else ""
            if not target or origin(target) != origin(str(request.url)) or urlsplit(target).username is not None:
                return response
            await response.aclose()
            request = moved(request, target)
        return response

    async def _received(self, exchange: Exchange) -> Any:
        response = exchange.response
        if response.is_redirect:
            text = self._shown(not_followed(response))
            raise RequestFailed(HttpFailure(text, response.status_code, cause="redirect"))
        if response.status_code >= 400:
            return await self._refused(exchange)
        if not _is_visible(response.headers.get(SESSION_HEADER, "")):
            text = f"the Mcp-Session-Id of {public_url(str(exchange.request.url))} is not visible ASCII"
            raise RequestFailed(HttpFailure(text, response.status_code, cause="content"))
        return await self._accepted(exchange)

    def _require_event_stream(self, exchange: Exchange) -> None:
        """Raise `RequestFailed` if the response is not an event stream."""
        if exchange.has_type(EVENT_STREAM):
            return
        kind = self._shown(exchange.content_type)
        text = f"{exchange.request.url.host} answered with '{kind}' instead of an event stream"
        raise RequestFailed(HttpFailure(text, exchange.response.status_code, cause="content"))

    def _unanswered(self, exchange: Exchange, failure: HttpFailure) -> Any:
        """Return the response for the SDK where a request without a JSON-RPC request in it failed."""
        request = exchange.request
        logger.debug("%s %s: %s", request.method, request.url.path, self.redact(failure.text))
        match request.method:
            case "POST":
                return httpx.Response(202)  # a notification: nothing waits for it, and the session goes on
            case "DELETE":
                return httpx.Response(405)  # to the SDK: this server does not support it
            case _:
                return httpx.Response(failure.status if (failure.status or 0) >= 400 else 405)

    def _shown(self, text: str) -> str:
        """Return a text of the server safe to display: cleaned, then masked, then cut."""
        return truncate(self.redact(clean_label(text)), DETAIL_CHARS)


def moved(request: Any, url: Any) -> Any:
    """Return the same request to another address."""
    content = request.content if request.method == "POST" else None
    return httpx.Request(request.method, url, headers=request.headers, content=content, extensions=request.extensions)


def _is_visible(session_id: str) -> bool:
    """Tell whether a session id has only the characters that the specification allows, 0x21 to 0x7E.

    It is sent back in a header, where others cannot stand.
    """
    return session_id.isascii() and session_id.isprintable() and " " not in session_id
