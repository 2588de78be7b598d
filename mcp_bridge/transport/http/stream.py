"""Event streams of a server, rewritten so that the SDK can read them and every request gets its answer."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import urljoin, urlsplit, urlunsplit

from ... import _sdk
from ...text.cleaning import clean_label, decoded, truncate
from ...text.redaction import public_url
from ..framing import Message, parse_line
from ..responses import standard_form
from .addresses import origin
from .failure import CODE, HttpFailure, from_exception
from .resumption import Resumption, Resumptions, Waiting
from .sse import Event, EventReader, encode_event

httpx = _sdk.httpx
logger = logging.getLogger(__name__)

DETAIL_CHARS = 200
LEAST_RETRY_MS = 1000
"""The least pause before the standing stream of a session is opened again, whatever the server wants."""
CALL_RETRY_MS = 200
"""The same for the rest of an answer, for which somebody waits."""
_RETRY_DIGITS = 8
PARCEL_CHARS = 256 * 1024
"""Messages of more JSON text than this do not go through the SDK."""


class EventInjection:
    """Puts answers into an open event stream that the server itself cannot give any more (old SSE)."""

    def __init__(self, url: str, prefix: str, redact: Callable[[str], str] = str) -> None:
        self.redact = redact
        self._url = url
        self._prefix = prefix.rstrip("/")
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.waiting: dict[str, Waiting] = {}
        self.target: Any = None
        """Where messages go, once the server has said so."""

    def fail(self, waiting: Waiting, failure: HttpFailure) -> None:
        self.waiting.pop(str(waiting.id), None)
        message = {"jsonrpc": "2.0", "id": waiting.id, "error": failure.as_error()}
        self.queue.put_nowait(message_event(message))

    def endpoint(self, data: str) -> str | None:
        """Take the address for messages that an `endpoint` event names; return what the SDK is told of it.

        None if it is at another origin. Raises `ValueError` if it is no address. Relative text is
        resolved as RFC 3986 says; a proxy that serves the server below a prefix, which the server
        does not know, is what `sse_prefix` is for. Servers repeat the query of our own address in
        it, with the key that is there, and the SDK's client logs where it posts to.
        """
        target = self._prefix + data if self._prefix and data.startswith("/") else data
        address = urljoin(self._url, target.strip())
        if origin(address) != origin(self._url):
            return None
        try:
            self.target = httpx.URL(address).copy_with(userinfo=b"")
        except httpx.InvalidURL as error:
            raise ValueError(str(error)) from error
        ours = urlsplit(self._url)
        return urlunsplit((ours.scheme, ours.netloc, urlsplit(address).path, "", ""))


class Parcels:
    """Carries large messages past the SDK, which refuses events over 1 MiB (2.x) and parses all once more."""

    def __init__(self) -> None:
        self._mark = f"mcp-bridge-{secrets.token_hex(8)}"  # no server can guess it
        self._held: dict[str, Message] = {}
        self._numbers = itertools.count(1)

    def wrap(self, message: Message) -> Message:
        """Return the message, or a small one that stands for it."""
        if "result" not in message or len(json.dumps(message)) < PARCEL_CHARS:
            return message
        number = str(next(self._numbers))
        self._held[number] = message
        return {"jsonrpc": "2.0", "id": message["id"], "result": {self._mark: number}}

    def unwrap(self, message: Message) -> Message:
        """Return what a message stands for, if it does."""
        result = message.get("result")
        number = result.get(self._mark) if isinstance(result, dict) else None
        return self._held.pop(number, message) if isinstance(number, str) else message


class EventStream(httpx.AsyncByteStream):  # type: ignore[misc,name-defined]
    """An event stream of the server, rewritten; it ends with an answer to the request that it was for.

    `resumed` is the request whose earlier stream it goes on with.
    """

    def __init__(
        self,
        response: Any,
        waiting: Waiting | None,
        limit: int,
        parcels: Parcels,
        resumptions: Resumptions,
        resumed: Resumption | None = None,
    ) -> None:
        waiting = resumed.waiting if resumed is not None else waiting
        self._resumptions = resumptions
        self._resumption = resumed or (resumptions.new(waiting) if waiting is not None else None)
        self._response = response
        self._parcels = parcels
        self._waiting = {str(waiting.id): waiting} if waiting is not None else {}
        self._for_one = waiting is not None
        self._reader = EventReader(limit)
        self._resumable = resumed is not None
        self._reason = "the stream ended without an answer"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.aiter_bytes():
                for event in self._reader.feed(chunk) if chunk else ():
                    for piece in self._rewrite(event):
                        yield piece
            for event in self._reader.feed(b""):
                for piece in self._rewrite(event):
                    yield piece
        except Exception as error:  # ours, too: the SDK 1.x leaves the caller of a broken stream waiting
            self._reason = f"the connection was lost before the answer: {error or type(error).__name__}"
        # With an event id the SDK asks the server to go on where it stopped.
        for waiting in self._waiting.values() if not self._resumable else ():
            failure = HttpFailure(self._reason)
            yield message_event({"jsonrpc": "2.0", "id": waiting.id, "error": failure.as_error()})

    async def aclose(self) -> None:
        await self._response.aclose()

    def _rewrite(self, event: Event) -> list[bytes]:
        event.retry = _pause(event.retry, CALL_RETRY_MS if self._for_one else LEAST_RETRY_MS)
        if event.id and self._resumption is not None:
            self._resumable = True
            self._resumptions.note(self._resumption, event.id)
            event.id = self._resumption.name
        messages = self._messages(event) if event.name == "message" else []
        if self._resumption is not None and not self._waiting:
            self._resumptions.close(self._resumption)
        if not messages and event.id is not None:
            return [encode_event(Event(id=event.id, retry=event.retry))]
        return [message_event(self._parcels.wrap(message), event) for message in messages]

    def _messages(self, event: Event) -> list[Message]:
        awaited = dict(self._waiting)
        messages, doubt = _messages(event, self._waiting)
        self._reason = doubt or self._reason
        if self._for_one:  # the SDK takes any answer for the end of the stream: only the right one may pass
            messages = [one for one in messages if "method" in one or str(one.get("id")) in awaited]
        return messages


class InjectedStream(httpx.AsyncByteStream):  # type: ignore[misc,name-defined]
    """The one event stream of the old SSE transport, into which failures of posts are put."""

    def __init__(
        self,
        response: Any,
        fail: Callable[[HttpFailure], None],
        injection: EventInjection,
        limit: int,
        parcels: Parcels,
    ) -> None:
        self._response = response
        self._parcels = parcels
        self._fail = fail
        self._injection = injection
        self._reader = EventReader(limit)
        self._pump = asyncio.ensure_future(self._read())

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (piece := await self._injection.queue.get()) is not None:
            yield piece

    async def aclose(self) -> None:
        self._pump.cancel()
        await asyncio.gather(self._pump, return_exceptions=True)
        await self._response.aclose()

    async def _read(self) -> None:
        queue = self._injection.queue
        try:
            async for chunk in self._response.aiter_bytes():
                for event in self._reader.feed(chunk) if chunk else ():
                    for piece in self._rewrite(event):
                        queue.put_nowait(piece)
            if self._injection.target is None:
                self._fail(HttpFailure("the event stream ended before its `endpoint` event", cause="content"))
        except Exception as error:  # the first failure counts: what `_rewrite` has told goes before this
            self._fail(from_exception(error, str(self._response.url)))
        finally:
            queue.put_nowait(None)

    def _rewrite(self, event: Event) -> list[bytes]:
        if event.name == "endpoint":
            if self._injection.target is not None:
                return []  # the SDK takes one only, and another for the end of the session
            try:
                address = self._injection.endpoint(event.data)
            except ValueError as error:
                text = f"the server wants its messages at an address that cannot be used: {public_url(event.data)}"
                self._fail(
                    HttpFailure(truncate(self._injection.redact(clean_label(text)), 2 * DETAIL_CHARS), cause="content")
                )
                raise OSError(text) from error
            if address is None:
                text = f"the server wants its messages at another origin: {public_url(event.data)}"
                text = truncate(self._injection.redact(clean_label(text)), DETAIL_CHARS)
                self._fail(HttpFailure(text, 403, cause="redirect"))
                raise OSError(text)
            return [encode_event(Event("endpoint", address))]
        if event.name != "message":
            return []
        messages, doubt = _messages(event, self._injection.waiting)
        if doubt:
            logger.debug("an error that names no request: %s", self._injection.redact(doubt))
        return [message_event(self._parcels.wrap(message)) for message in messages]


def _pause(retry: str | None, least: int) -> str | None:
    """Return how many milliseconds the SDK is to wait before it asks for a stream again, if a server has said that."""
    if retry is None:
        return None
    return str(max(int(retry), least)) if len(retry) < _RETRY_DIGITS else None


def _messages(event: Event, waiting: dict[str, Waiting]) -> tuple[list[Message], str]:
    """Return the messages in an event, in the form that the SDK takes, and an error that names no request.

    Answers are taken out of `waiting`, by the text of their ids.
    """
    only = next(iter(waiting.values())) if len(waiting) == 1 else None
    if event.too_long is not None:
        broken = parse_line(event.too_long).broken
        named = broken.id if broken is not None else None
        owner_id = named if named is not None or only is None else only.id
        reason = f"the server's answer is too long ({event.too_long.size} bytes)"
        found: list[Message] = [error_message(owner_id, reason)]
    else:
        data = event.data.encode("utf-8", "replace").replace(b"\n", b" ")
        parsed = parse_line(data)
        found = parsed.messages
        named = parsed.broken.id if parsed.broken is not None else None
        owner_id = named if named is not None or only is None else only.id
        if (parsed.unfinished or parsed.broken) and not found and owner_id is not None and not is_json(data):
            failure = HttpFailure("the server's answer is broken JSON", HTTPStatus.OK, cause="content")
            found.append({"jsonrpc": "2.0", "id": owner_id, "error": failure.as_error()})
        elif parsed.broken is not None:
            found.append(error_message(owner_id, f"the server's answer cannot be used: {parsed.broken.reason}"))
    standard: list[Message] = []
    doubt = ""
    for message in found:
        named = message.get("id") is not None
        owner = waiting.get(str(message.get("id"))) or (None if named else only)
        if "method" not in message and not named and "result" not in message:
            doubt = truncate(clean_label(str((message.get("error") or {}).get("message", ""))), DETAIL_CHARS)
            continue
        answer = standard_form(message, owner.id if owner else None, owner.method if owner else "")
        if answer is not None:
            standard.append(answer)
            if owner is not None and "method" not in answer:
                waiting.pop(str(owner.id), None)
    return standard, doubt


def is_json(data: bytes) -> bool:
    """Tell whether a text is JSON, though it may be nested too deeply to be read; else it is no answer of a tool."""
    try:
        json.loads(decoded(data))
    except json.JSONDecodeError:
        return False
    except (ValueError, RecursionError):
        pass
    return True


def error_message(request_id: Any, text: str) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": CODE, "message": text}}


def message_event(message: Message, event: Event | None = None) -> bytes:
    event = event or Event()
    return encode_event(Event("message", json.dumps(message), event.id, event.retry))
