"""HTTP responses with a status of 400 or above: what they mean for the request and for its session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ...text.cleaning import decoded
from ..framing import Message, parse_line
from ..responses import standard_form
from .exchange import PLAIN_TEXT, SESSION_HEADER, Exchange, read_body
from .failure import HttpFailure, from_status, is_doubtful, is_forgotten
from .messages import PendingRequest

_DETAIL_BYTES = 64 * 1024
"""How much of the body is read; of a longer one nothing is used."""
_ANSWER_STATUSES = (400, 404, 422, 500)
"""Statuses under which servers send the JSON-RPC error of a request."""

ErrorResponseKind = Literal["session_expired", "session_doubtful", "answer", "failure"]


@dataclass(frozen=True)
class ErrorResponse:
    """A refused HTTP request. `error` is the first JSON-RPC error response in the body, `text` the body as text."""

    status: int
    url: str
    in_session: bool
    pending: PendingRequest | None
    error: Message | None
    text: str
    is_plain_text: bool

    @property
    def kind(self) -> ErrorResponseKind:
        """The meaning of the response.

        `session_expired`: the server has forgotten the session. `session_doubtful`: it looks like that.
        `answer`: `error` is the response to the request. `failure`: the HTTP request failed.
        """
        if self.in_session and self._is_about_the_session:
            if self.status == 404:
                return "session_expired"
            if is_doubtful(self.status, self.text):
                return "session_doubtful"
        return "failure" if self.answer is None else "answer"

    @property
    def answer(self) -> Message | None:
        """The JSON-RPC error as a response to the request, None if it is none, or one to `initialize`."""
        if self.error is None or self.pending is None or self.status not in _ANSWER_STATUSES:
            return None
        if self.pending.method == "initialize":
            return None
        return standard_form({**self.error, "id": self.pending.id}, self.pending.id, self.pending.method)

    @property
    def _is_about_the_session(self) -> bool:
        """Whether the response may be about our session.

        A server that names the request has looked at it: its text may be about a session of its own.
        """
        if self.error is None or self.pending is None or str(self.error.get("id")) != str(self.pending.id):
            return True
        return self.status == 404 and is_forgotten(self.error["error"])

    def failure(self, shown: Callable[[str], str]) -> HttpFailure:
        """Return the failure of the HTTP request; `shown` makes a text of the server safe to display."""
        detail = ""
        if self.error is not None:
            detail = str(self.error["error"].get("message", ""))
        elif self.is_plain_text:
            detail = self.text
        return from_status(
            self.status,
            self.url,
            detail=shown(detail),
            expired=self.kind == "session_expired",
            doubtful=self.kind == "session_doubtful",
        )


async def read_error_response(exchange: Exchange) -> ErrorResponse:
    """Read the body of a refused request and close its response."""
    body = await read_body(exchange.response, _DETAIL_BYTES) or b""
    errors = (message for message in parse_line(body).messages if isinstance(message.get("error"), dict))
    return ErrorResponse(
        status=exchange.response.status_code,
        url=str(exchange.request.url),
        in_session=SESSION_HEADER in exchange.request.headers,
        pending=exchange.pending,
        error=next(errors, None),
        text=decoded(body),
        is_plain_text=exchange.has_type(PLAIN_TEXT),
    )
