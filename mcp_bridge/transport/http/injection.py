"""The event stream of the old SSE transport (specification 2024-11-05), with failures of POSTs put into it.

The SDK expects each response on this stream; for a POST that failed the server sends none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urljoin, urlsplit, urlunsplit

from ... import _sdk
from ...text.cleaning import clean_label, truncate
from ...text.redaction import public_url
from .addresses import origin
from .failure import HttpFailure, from_exception
from .messages import DETAIL_CHARS, LargeMessages, PendingRequest, event_messages, failure_message, message_event
from .sse import Event, EventReader, encode_event

httpx = _sdk.httpx
logger = logging.getLogger(__name__)


class EventInjection:
    """The pending requests of a session, the address for its POSTs, and what its event stream yields to the SDK."""

    def __init__(self, url: str, prefix: str, redact: Callable[[str], str] = str) -> None:
        self.redact = redact
        self._url = url
        self._prefix = prefix.rstrip("/")
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        """The events for the SDK; None ends the stream."""
        self.pending: dict[str, PendingRequest] = {}
        """By their ids as text."""
        self.target: Any = None
        """The address for messages, None until the server has sent it."""

    def fail(self, pending: PendingRequest, failure: HttpFailure) -> None:
        """Answer a request with the failure of its POST."""
        self.pending.pop(str(pending.id), None)
        self.queue.put_nowait(message_event(failure_message(pending.id, failure)))

    def endpoint(self, data: str) -> str | None:
        """Set `target` from an `endpoint` event; return the address to give to the SDK, None for another origin.

        Raises `ValueError` if it is not a valid address. Relative addresses are resolved as in RFC 3986;
        `sse_prefix` is for a proxy that serves the server below a prefix which the server does not know.
        The SDK's client logs where it posts to, and servers repeat the query of our own address, with a key
        in it: so the SDK gets neither query nor userinfo.
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


class InjectedStream(httpx.AsyncByteStream):  # type: ignore[misc,name-defined]
    """The event stream as the SDK reads it: the server's events and those of an `EventInjection`.

    `on_failure` is called with each reason why the session cannot go on.
    """

    def __init__(
        self,
        response: Any,
        on_failure: Callable[[HttpFailure], None],
        injection: EventInjection,
        limit: int,
        large_messages: LargeMessages,
    ) -> None:
        self._response = response
        self._large_messages = large_messages
        self._on_failure = on_failure
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
        """Move the server's events to the queue until its stream ends."""
        queue = self._injection.queue
        try:
            async for chunk in self._response.aiter_bytes():
                for event in self._reader.feed(chunk) if chunk else ():
                    for piece in self._rewrite(event):
                        queue.put_nowait(piece)
            if self._injection.target is None:
                self._on_failure(HttpFailure("the event stream ended before its `endpoint` event", cause="content"))
        except Exception as error:
            self._on_failure(from_exception(error, str(self._response.url)))
        finally:
            queue.put_nowait(None)

    def _rewrite(self, event: Event) -> list[bytes]:
        match event.name:
            case "endpoint":
                return self._take_endpoint(event.data)
            case "message":
                messages, unattributed = event_messages(event, self._injection.pending)
                if unattributed:
                    logger.debug("an error that names no request: %s", self._injection.redact(unattributed))
                return [message_event(self._large_messages.replace(message)) for message in messages]
            case _:
                return []

    def _take_endpoint(self, data: str) -> list[bytes]:
        """Return the `endpoint` event for the SDK. Raises `OSError` for an address that cannot be used."""
        if self._injection.target is not None:
            return []  # the SDK accepts one only, and ends the session at a second
        try:
            address = self._injection.endpoint(data)
        except ValueError as error:
            text = f"the server's `endpoint` event names an unusable address: {public_url(data)}"
            self._on_failure(HttpFailure(self._shown(text, 2 * DETAIL_CHARS), cause="content"))
            raise OSError(text) from error
        if address is None:
            text = f"the server's `endpoint` event names another origin: {public_url(data)}"
            self._on_failure(HttpFailure(self._shown(text, DETAIL_CHARS), 403, cause="redirect"))
            raise OSError(text)
        return [encode_event(Event("endpoint", address))]

    def _shown(self, text: str, limit: int) -> str:
        return truncate(self._injection.redact(clean_label(text)), limit)
