"""Event streams of streamable HTTP, rewritten for the SDK so that each request gets a response."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from ... import _sdk
from ..framing import Message
from .exchange import Exchange
from .failure import HttpFailure
from .messages import LargeMessages, event_messages, failure_message, message_event
from .resumption import Resumptions
from .sse import Event, EventReader, encode_event

httpx = _sdk.httpx

LEAST_RETRY_MS = 1000
"""The shortest pause before the standing stream of a session is opened again, whatever `retry` the server sends."""
CALL_RETRY_MS = 200
"""The same for the stream of one request, whose caller is waiting."""
_RETRY_DIGITS = 8


class EventStream(httpx.AsyncByteStream):  # type: ignore[misc,name-defined]
    """The event stream in a response. It ends with a response to its request, if it belongs to one.

    `exchange.resumption` is the request whose earlier stream it continues.
    """

    def __init__(self, exchange: Exchange, limit: int, large_messages: LargeMessages, resumptions: Resumptions) -> None:
        resumption = exchange.resumption
        self._resumable = resumption is not None
        """Whether the SDK knows an event id, with which it asks for the rest if the stream ends too early."""
        if resumption is None and exchange.pending is not None:
            resumption = resumptions.new(exchange.pending)
        self._resumptions = resumptions
        self._resumption = resumption
        """The request that the stream belongs to, None for the standing stream of the session."""
        self._pending = {str(resumption.pending.id): resumption.pending} if resumption is not None else {}
        self._response = exchange.response
        self._large_messages = large_messages
        self._reader = EventReader(limit)
        self._reason = "the stream ended without an answer"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.aiter_bytes():
                if chunk:  # an empty one means the end to the reader
                    for piece in self._pieces(chunk):
                        yield piece
            for piece in self._pieces(b""):
                yield piece
        except Exception as error:  # also a fault of ours: SDK 1.x leaves the caller of a broken stream waiting
            self._reason = f"the connection was lost before the answer: {error or type(error).__name__}"
        if not self._resumable:
            for request in self._pending.values():
                yield message_event(failure_message(request.id, HttpFailure(self._reason)))

    async def aclose(self) -> None:
        await self._response.aclose()

    def _pieces(self, chunk: bytes) -> Iterator[bytes]:
        """Return the rewritten events that a chunk completes."""
        for event in self._reader.feed(chunk):
            yield from self._rewrite(event)

    def _rewrite(self, event: Event) -> list[bytes]:
        """Return an event as the SDK is to see it: one for each message, with an event id of ours."""
        event.retry = _pause(event.retry, LEAST_RETRY_MS if self._resumption is None else CALL_RETRY_MS)
        if event.id and self._resumption is not None:
            self._resumable = True
            self._resumptions.note(self._resumption, event.id)
            event.id = self._resumption.name
        messages = self._messages(event) if event.name == "message" else []
        if self._resumption is not None and not self._pending:
            self._resumptions.close(self._resumption)
        if not messages and event.id is not None:
            return [encode_event(Event(id=event.id, retry=event.retry))]
        return [message_event(self._large_messages.replace(message), event) for message in messages]

    def _messages(self, event: Event) -> list[Message]:
        """Return the messages in an event, without responses to other requests than the stream's own."""
        expected = set(self._pending)
        messages, unattributed = event_messages(event, self._pending)
        self._reason = unattributed or self._reason
        if self._resumption is None:
            return messages
        # The SDK takes any response for the end of the stream.
        return [message for message in messages if "method" in message or str(message.get("id")) in expected]


def _pause(retry: str | None, least: int) -> str | None:
    """Return for how many milliseconds the SDK waits before it asks for a stream again, None for its own default."""
    if retry is None:
        return None
    return str(max(int(retry), least)) if len(retry) < _RETRY_DIGITS else None
