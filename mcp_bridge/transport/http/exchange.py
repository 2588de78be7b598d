"""One HTTP request of the SDK with its response, and the forms of response that the SDK is given."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ... import _sdk
from ..framing import Message
from .messages import PendingRequest
from .resumption import Resumption

httpx = _sdk.httpx

SESSION_HEADER, LAST_EVENT_HEADER = "mcp-session-id", "last-event-id"
_KEPT_HEADERS = frozenset({SESSION_HEADER.encode(), b"set-cookie"})
"""The response headers that the SDK and its client read, in lower case. They send them back, so they must be ASCII."""
JSON, EVENT_STREAM, PLAIN_TEXT = "application/json", "text/event-stream", "text/plain"


@dataclass
class Exchange:
    """One HTTP request and, once it has arrived, its response.

    `pending` is the JSON-RPC request in the body of a POST. `resumption` is the earlier request whose
    event stream a GET asks to continue.
    """

    request: Any
    pending: PendingRequest | None = None
    resumption: Resumption | None = None
    response: Any = None

    @property
    def content_type(self) -> str:
        """The media type of the response as the server wrote it, "" without one."""
        return str(self.response.headers.get("content-type", ""))

    def has_type(self, media_type: str) -> bool:
        """Tell whether the response is of a media type, given in lower case."""
        return self.content_type.lower().startswith(media_type)


def json_response(message: Message, response: Any = None) -> Any:
    """Return an HTTP response that holds a message, with the headers of the server's response that the SDK reads."""
    return httpx.Response(200, headers=_headers(response, JSON), content=json.dumps(message).encode())


def stream_response(stream: Any, response: Any) -> Any:
    """Return an HTTP response with an event stream, an `httpx.AsyncByteStream`."""
    return httpx.Response(200, headers=_headers(response, EVENT_STREAM), stream=stream)


def event_response(event: bytes) -> Any:
    """Return an HTTP response with an event stream of one event."""
    return httpx.Response(200, headers=_headers(None, EVENT_STREAM), content=event)


def accepted_response(response: Any) -> Any:
    """Return the HTTP response to a POST that gets no JSON-RPC response in its body."""
    return httpx.Response(202, headers=_headers(response, PLAIN_TEXT))


async def read_body(response: Any, limit: int) -> bytes | None:
    """Return a whole body and close the response; None if it is longer than `limit` bytes."""
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


def _headers(response: Any, media_type: str) -> list[tuple[bytes, bytes]]:
    pairs = response.headers.raw if response is not None else []
    kept = [(name, value) for name, value in pairs if name.lower() in _KEPT_HEADERS and value.isascii()]
    return [*kept, (b"content-type", media_type.encode())]
