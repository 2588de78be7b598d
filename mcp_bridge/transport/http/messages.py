"""JSON-RPC messages in the bodies and events of HTTP responses, in the form that both majors of the SDK accept."""

from __future__ import annotations

import itertools
import json
import secrets
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from ...text.cleaning import clean_label, decoded, truncate
from ..framing import Message, UnreadableAnswer, parse_line
from ..responses import standard_form
from .failure import CODE, HttpFailure
from .sse import Event, encode_event

DETAIL_CHARS = 200
"""How much of a server's own text is shown in a failure."""
STAND_IN_CHARS = 256 * 1024
"""Results of more JSON text than this do not go through the SDK."""


@dataclass(frozen=True)
class PendingRequest:
    """A JSON-RPC request that has been sent and has no response yet."""

    id: Any
    method: str


def pending_request(body: bytes) -> PendingRequest | None:
    """Return the request in the body of a POST, None if it holds a notification or a response."""
    try:
        message = json.loads(body)
        return PendingRequest(message["id"], str(message["method"]))
    except (ValueError, KeyError, TypeError):
        return None


def body_answer(body: bytes, pending: PendingRequest) -> Message | None:
    """Return the response to a request that a JSON body holds, an error if it is there but unusable, else None."""
    parsed = parse_line(body.replace(b"\n", b" "))
    for message in parsed.messages:
        answer = standard_form(message, pending.id, pending.method)
        if answer is not None and answer.get("id") == pending.id and "method" not in answer:
            return answer
    if parsed.broken is not None and is_json(body):
        return error_message(pending.id, f"the server's answer cannot be used: {parsed.broken.reason}")
    return None


def event_messages(event: Event, pending: dict[str, PendingRequest]) -> tuple[list[Message], str]:
    """Return the messages in an event, and the text of an error in it that names no request.

    Requests that the event answers are taken out of `pending`, whose keys are the ids as text.
    """
    sole = next(iter(pending.values())) if len(pending) == 1 else None
    messages: list[Message] = []
    unattributed = ""
    for message in _parse_event(event, sole):
        if message.get("id") is not None:
            request = pending.get(str(message["id"]))
        elif "method" in message or "result" in message:
            request = sole
        else:
            unattributed = truncate(clean_label(str((message.get("error") or {}).get("message", ""))), DETAIL_CHARS)
            continue
        standard = standard_form(message, request.id if request else None, request.method if request else "")
        if standard is None:
            continue
        messages.append(standard)
        if request is not None and "method" not in standard:
            pending.pop(str(request.id), None)
    return messages, unattributed


def _parse_event(event: Event, sole: PendingRequest | None) -> list[Message]:
    """Return the messages in an event as the server wrote them; an unreadable answer becomes an error."""
    if event.too_long is not None:
        request_id = _answered_id(parse_line(event.too_long).broken, sole)
        return [error_message(request_id, f"the server's answer is too long ({event.too_long.size} bytes)")]
    data = event.data.encode("utf-8", "replace").replace(b"\n", b" ")
    parsed = parse_line(data)
    if parsed.broken is None and not parsed.unfinished:
        return parsed.messages
    request_id = _answered_id(parsed.broken, sole)
    if request_id is not None and not parsed.messages and not is_json(data):
        failure = HttpFailure("the server's answer is broken JSON", HTTPStatus.OK, cause="content")
        return [failure_message(request_id, failure)]
    if parsed.broken is not None:
        return [
            *parsed.messages,
            error_message(request_id, f"the server's answer cannot be used: {parsed.broken.reason}"),
        ]
    return parsed.messages


def _answered_id(unreadable: UnreadableAnswer | None, sole: PendingRequest | None) -> Any:
    """Return the id of the request that an unreadable answer is for: the one it names, else the only pending one."""
    if unreadable is not None and unreadable.id is not None:
        return unreadable.id
    return sole.id if sole is not None else None


def is_json(data: bytes) -> bool:
    """Tell whether a text is JSON, even if it is nested too deeply to be parsed here."""
    try:
        json.loads(decoded(data))
    except json.JSONDecodeError:
        return False
    except (ValueError, RecursionError):
        pass
    return True


def error_message(request_id: Any, text: str) -> Message:
    """Return an error response, which counts as the server's own error."""
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": CODE, "message": text}}


def failure_message(request_id: Any, failure: HttpFailure) -> Message:
    """Return an error response that carries a failure of the HTTP request."""
    return {"jsonrpc": "2.0", "id": request_id, "error": failure.as_error()}


def message_event(message: Message, event: Event | None = None) -> bytes:
    """Return an event with a message, and with the id and retry time of `event`."""
    event = event or Event()
    return encode_event(Event("message", json.dumps(message), event.id, event.retry))


class LargeMessages:
    """Carries large results past the SDK: 2.x refuses events over 1 MiB, and both majors parse them once more."""

    def __init__(self) -> None:
        self._mark = f"mcp-bridge-{secrets.token_hex(8)}"  # no server can guess it
        self._held: dict[str, Message] = {}
        self._numbers = itertools.count(1)

    def replace(self, message: Message) -> Message:
        """Return the message, or a small one that stands in for it until `restore`."""
        if "result" not in message or len(json.dumps(message)) < STAND_IN_CHARS:
            return message
        number = str(next(self._numbers))
        self._held[number] = message
        return {"jsonrpc": "2.0", "id": message["id"], "result": {self._mark: number}}

    def restore(self, message: Message) -> Message:
        """Return the message that this one stands in for, else the message itself."""
        result = message.get("result")
        number = result.get(self._mark) if isinstance(result, dict) else None
        return self._held.pop(number, message) if isinstance(number, str) else message
