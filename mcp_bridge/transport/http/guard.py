"""Stands between the SDK's HTTP transports and the network.

The SDK waits for ever, or ends the session, where a server answers with a status, a page
of HTML, half a stream or a message that is not quite one. The guard gives it an answer to
every request: the server's own in a form that both majors accept, or a marked failure. It
also decides where requests may go: redirects leave their origin never.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from ... import _sdk
from ...errors import Cause
from ...text.cleaning import clean_label, decoded, truncate
from ...text.redaction import public_url
from ..framing import Message, parse_line
from ..responses import standard_form
from .addresses import not_followed, origin, redirect_target
from .failure import HttpFailure, from_exception, from_status, is_doubtful, is_forgotten, phrase
from .resumption import ATTEMPTS, Resumption, Resumptions, Waiting
from .stream import (
    DETAIL_CHARS,
    EventInjection,
    EventStream,
    InjectedStream,
    Parcels,
    error_message,
    is_json,
    message_event,
)

httpx = _sdk.httpx
logger = logging.getLogger(__name__)

MAX_REDIRECTS = 5
DELETE_SECONDS = 2.0
"""How long the end of a session may take to be told to the server."""
DETAIL_BYTES = 64 * 1024
_SESSION, _LAST_EVENT = "mcp-session-id", "last-event-id"
_KEPT_HEADERS = frozenset({_SESSION.encode(), b"set-cookie"})
"""What the SDK and its client look at, in lower case; they send it back, which they can only if it is ASCII."""
_JSON, _SSE, _PLAIN = "application/json", "text/event-stream", "text/plain"


class _Failed(Exception):
    """Carries what went wrong with one request to where that is answered."""

    def __init__(self, failure: HttpFailure) -> None:
        super().__init__(failure.text)
        self.failure = failure


class HttpGuard(httpx.AsyncBaseTransport):  # type: ignore[misc,name-defined]
    """An HTTP transport for the SDK's client, over a transport that knows proxies and certificates.

    `failure` is the last one that belonged to no request, such as the opening of an event stream.
    """

    def __init__(
        self,
        network: Any,
        url: str,
        *,
        limit: int,
        injection: EventInjection | None = None,
        proxy: str | None = None,
        redact: Callable[[str], str] = str,
    ) -> None:
        self.redact = redact
        self._network = network
        self._proxy = proxy
        self._public, self._full = httpx.URL(public_url(url)), httpx.URL(url).copy_with(userinfo=b"")
        self._limit = limit
        self._injection = injection
        self.parcels = Parcels()
        self._resumptions = Resumptions()
        self.failure: HttpFailure | None = None

    async def handle_async_request(self, request: Any) -> Any:
        waiting, resumed = _waiting(request), self._resumptions.find(request.headers.get(_LAST_EVENT))
        if waiting is not None and self._injection is not None:
            self._injection.waiting[str(waiting.id)] = waiting
        try:
            return await self._exchange(self._addressed(request, resumed), waiting, resumed)
        except _Failed as failed:
            failure = failed.failure
        except httpx.ProxyError as error:
            text = f"the proxy {public_url(self._proxy or '')} lets nobody through to {public_url(str(request.url))}"
            failure = HttpFailure(f"{text}: {error}", cause="proxy")
        except Exception as error:  # whatever it is, a request without an answer would end the session or wait for ever
            failure = from_exception(error, str(request.url), self._proxy)
        return self._failed(request, waiting, failure) if resumed is None else self._not_resumed(resumed, failure)

    async def aclose(self) -> None:
        await self._network.aclose()

    async def _exchange(self, request: Any, waiting: Waiting | None, resumed: Resumption | None) -> Any:
        """Send a request and return the answer for the SDK. Raises `_Failed`, and what the network raises."""
        sent = self._send(request)
        if request.method == "DELETE":
            sent = asyncio.wait_for(sent, DELETE_SECONDS)
        response = await sent
        try:
            return await self._answer(request, waiting, resumed, response)
        except Exception:
            await response.aclose()
            raise

    def _note(self, failure: HttpFailure) -> None:
        """Keep the first failure that belonged to no request."""
        self.failure = self.failure or failure

    def _addressed(self, request: Any, resumed: Resumption | None) -> Any:
        """Return the request to where it really goes: the SDK and its client log addresses, so they know no query."""
        if request.method == "POST" and self._injection is not None and self._injection.target is not None:
            return _moved(request, self._injection.target)
        if request.url == self._public:
            request = _moved(request, self._full)
        if resumed is not None:
            name = _LAST_EVENT.encode()
            kept = [(key, value) for key, value in request.headers.raw if key.lower() != name]
            request.headers = httpx.Headers([*kept, (name, resumed.event_id.encode())])
        return request

    async def _send(self, request: Any) -> Any:
        """Send a request, following redirects within its origin that keep its method."""
        for _ in range(MAX_REDIRECTS):
            response = await self._network.handle_async_request(request)
            response.request = request
            kept = response.status_code in (307, 308) or request.method == "GET"
            target = redirect_target(response) if response.is_redirect and kept else ""
            if not target or origin(target) != origin(str(request.url)) or urlsplit(target).username is not None:
                return response
            await response.aclose()
            request = _moved(request, target)
        return response

    async def _answer(self, request: Any, waiting: Waiting | None, resumed: Resumption | None, response: Any) -> Any:
        status, said = response.status_code, response.headers.get("content-type", "")
        kind, said = said.lower(), self._fit(said)
        if response.is_redirect:
            raise _Failed(HttpFailure(self._fit(not_followed(response)), status, cause="redirect"))
        if status >= 400:
            return await self._refused(request, waiting, response)
        if not _is_visible(response.headers.get(_SESSION, "")):
            text = f"the Mcp-Session-Id of {public_url(str(request.url))} has other characters than visible ASCII"
            raise _Failed(HttpFailure(text, status, cause="content"))
        needs_stream = request.method == "GET" and (resumed is not None or self._injection is not None)
        if needs_stream and not kind.startswith(_SSE):
            text = f"{request.url.host} answered with '{said}' instead of an event stream"
            raise _Failed(HttpFailure(text, status, cause="content"))
        if request.method == "GET" and self._injection is not None:
            return _stream_response(
                response, InjectedStream(response, self._note, self._injection, self._limit, self.parcels)
            )
        if kind.startswith(_SSE):
            stream = EventStream(response, waiting, self._limit, self.parcels, self._resumptions, resumed)
            return _stream_response(response, stream)
        if request.method == "DELETE":
            await response.aclose()
            return httpx.Response(204)
        if waiting is None or self._injection is not None:
            await response.aclose()
            return httpx.Response(202, headers=_headers(response, _PLAIN))
        body = await _read(response, self._limit)
        return _json_response(response, self._read_json(body, waiting, status, said))

    async def _refused(self, request: Any, waiting: Waiting | None, response: Any) -> Any:
        """Return the tool's own error that came with a status of 400 and above. Raises `_Failed` if there is none."""
        body = await _read(response, DETAIL_BYTES) or b""
        own = next((one for one in parse_line(body).messages if isinstance(one.get("error"), dict)), None)
        status = response.status_code
        in_session = _SESSION in request.headers
        # A server that names the call has looked at it; its words may be about a session of its own.
        names_call = own is not None and waiting is not None and str(own.get("id")) == str(waiting.id)
        expired = status == 404 and in_session and (not names_call or own is None or is_forgotten(own["error"]))
        said = decoded(body)
        doubtful = in_session and not expired and not names_call and is_doubtful(status, said)
        if own is not None and waiting is not None and status in (400, 404, 422, 500) and not (expired or doubtful):
            message = standard_form({**own, "id": waiting.id}, waiting.id, waiting.method)
            if message is not None and self._injection is None and waiting.method != "initialize":
                return _json_response(response, message)
        is_plain = response.headers.get("content-type", "").lower().startswith(_PLAIN)
        detail = str(own["error"].get("message", "")) if own else said * is_plain
        url = str(request.url)
        raise _Failed(from_status(status, url, detail=self._fit(detail), expired=expired, doubtful=doubtful))

    def _failed(self, request: Any, waiting: Waiting | None, failure: HttpFailure) -> Any:
        """Return what the SDK is given for a request that failed."""
        if waiting is not None and self._injection is None:
            message = {"jsonrpc": "2.0", "id": waiting.id, "error": failure.as_error()}
            return _json_response(None, message)
        if waiting is not None and self._injection is not None:
            self._injection.fail(waiting, failure)
            return httpx.Response(202)
        logger.debug("%s %s: %s", request.method, request.url.path, self.redact(failure.text))
        if request.method == "POST":
            return httpx.Response(202)  # a notification: nobody waits, and the session must go on
        if request.method == "DELETE":
            return httpx.Response(405)  # to the SDK: the server does not want to be told
        if self._injection is not None:  # without its stream an old session is over; another may have none
            self.failure = failure
        return httpx.Response(failure.status if (failure.status or 0) >= 400 else 405)

    def _not_resumed(self, resumed: Resumption, failure: HttpFailure) -> Any:
        """Return what the SDK gets where the rest of a stream cannot be had: another chance, or the end of its call."""
        resumed.failures += 1
        if failure.status is None and resumed.failures < ATTEMPTS:
            return httpx.Response(503)
        self._resumptions.close(resumed)
        why = failure.text if failure.status is None else f"the server answers {phrase(failure.status)}"
        text = f"the connection was lost before the answer, and the rest cannot be had: {why}"
        error = HttpFailure(text, cause=failure.cause).as_error()
        message = message_event({"jsonrpc": "2.0", "id": resumed.waiting.id, "error": error})
        return httpx.Response(200, headers=_headers(None, _SSE), content=message)

    def _fit(self, text: str) -> str:
        """Return words of the server fit to be shown: cleaned, then masked, then cut."""
        return truncate(self.redact(clean_label(text)), DETAIL_CHARS)

    def _read_json(self, body: bytes | None, waiting: Waiting, status: int, kind: str) -> Message:
        """Return the answer in a body, or why a message there cannot be used. Raises `_Failed` if there is none."""
        if body is None:
            return error_message(waiting.id, f"the server's answer is longer than {self._limit} bytes")
        parsed = parse_line(body.replace(b"\n", b" "))
        for message in parsed.messages:
            answer = standard_form(message, waiting.id, waiting.method)
            if answer is not None and answer.get("id") == waiting.id and "method" not in answer:
                return answer
        if parsed.broken is not None and is_json(body):
            return error_message(waiting.id, f"the server's answer cannot be used: {parsed.broken.reason}")
        what = "no answer in it" if is_json(body) else "broken JSON"
        what = what if not kind or kind.lower().startswith(_JSON) else f"'{kind}'"
        text = f"the server answered {status} with {what if body else 'nothing'}, which is no MCP"
        hint = "check the url, and what stands before the server: a login page, a proxy"
        cause: Cause = "initialize" if waiting.method == "initialize" else "content"
        raise _Failed(HttpFailure(f"{text}; {hint}", status, cause=cause))


def _moved(request: Any, url: Any) -> Any:
    """Return the same request to another address."""
    content = request.content if request.method == "POST" else None
    return httpx.Request(request.method, url, headers=request.headers, content=content, extensions=request.extensions)


def _waiting(request: Any) -> Waiting | None:
    if request.method != "POST":
        return None
    try:
        message = json.loads(request.content)
        return Waiting(message["id"], str(message["method"]))
    except (ValueError, KeyError, TypeError):
        return None


def _is_visible(session_id: str) -> bool:
    """Tell whether a session id is what the specification allows, 0x21 to 0x7E: it must go into a header again."""
    return session_id.isascii() and session_id.isprintable() and " " not in session_id


async def _read(response: Any, limit: int) -> bytes | None:
    """Return a whole body, None if it is longer than `limit` bytes."""
    chunks: list[bytes] = []
    size = 0
    try:
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if size > limit:
                return None
            chunks.append(chunk)
    finally:
        await response.aclose()
    return b"".join(chunks)


def _headers(response: Any, kind: str) -> list[tuple[bytes, bytes]]:
    """Return what the SDK is given of a response's headers, and the type."""
    pairs = response.headers.raw if response is not None else []
    kept = [(name, value) for name, value in pairs if name.lower() in _KEPT_HEADERS and value.isascii()]
    return [*kept, (b"content-type", kind.encode())]


def _json_response(response: Any, message: Message) -> Any:
    return httpx.Response(200, headers=_headers(response, _JSON), content=json.dumps(message).encode())


def _stream_response(response: Any, stream: Any) -> Any:
    return httpx.Response(200, headers=_headers(response, _SSE), stream=stream)
