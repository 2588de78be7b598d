"""The meaning of an error response: the server's own error, or an HTTP request of the session that failed."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import BridgeError, Cause, RpcError, ServerUnavailable, SessionExpired, SessionRefused
from ..text.cleaning import clean_label, truncate
from ..transport.http.failure import failure_in

_NOT_UNDERSTOOD = (-32601, -32602, -32022)
"""Errors with which servers of another protocol respond to `initialize`."""
_TEXT_CHARS = 500
_NEXT = "; the next call gets a new session"


def meaning(error: RpcError, server: str, redact: Callable[[str], str]) -> BridgeError:
    """Return an error response as the exception to raise, secrets masked: `RpcError` or `ServerUnavailable`."""
    failure = failure_in(error.data)
    text = redact(error.message)
    if failure is None:
        return RpcError(text, code=error.code, server=server, data=error.data)
    kind = SessionExpired if failure.expired else SessionRefused if failure.doubtful else ServerUnavailable
    if failure.doubtful:
        text += _NEXT
    retry = failure.retry or failure.doubtful
    return kind(text, server=server, retry=retry, status=failure.status, cause=failure.cause)


def ends_session(meant: BridgeError) -> bool:
    """Return whether no further call may begin on a session after this error."""
    lost = isinstance(meant, (SessionExpired, SessionRefused))
    return lost or (isinstance(meant, ServerUnavailable) and meant.status is None)


def initialize_failure(meant: BridgeError) -> ServerUnavailable:
    """Return the reason why there is no session after this error to `initialize`."""
    if isinstance(meant, ServerUnavailable):
        return meant
    text = f"refused initialize: {truncate(clean_label(meant.message), _TEXT_CHARS)}"
    understood = not (isinstance(meant, RpcError) and meant.code in _NOT_UNDERSTOOD)
    cause: Cause = "initialize" if understood else "version"
    return ServerUnavailable(text, server=meant.server, retry=understood, cause=cause)
