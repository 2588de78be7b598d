"""The two kinds of a response, in the form that both majors of the SDK accept."""

from __future__ import annotations

from collections.abc import Mapping

from ..text import json_text
from .framing import Message

INTERNAL_ERROR = -32603


def is_error(message: Message) -> bool:
    """Tell whether a response is an error: some send both members, one of them null."""
    return message.get("error") is not None or "result" not in message


def result_object(result: object, method: str) -> Message:
    """Return a result as an object, which the protocol wants and some servers do not send."""
    if isinstance(result, dict):
        return result
    if result is None:
        return {}
    if isinstance(result, list):
        return {"tools" if method == "tools/list" else "content": result}
    return {"content": result if isinstance(result, str) else json_text.dumps(result)}


def error_object(error: object) -> Message:
    """Return a JSON-RPC error with a number and a text, whatever the server gave."""
    if not isinstance(error, Mapping):
        text = "the server answered with neither result nor error" if error is None else _text(error)
        return {"code": INTERNAL_ERROR, "message": text}
    code = error.get("code")
    message = error.get("message")
    return {
        "code": code if isinstance(code, int) and not isinstance(code, bool) else INTERNAL_ERROR,
        "message": _text(message) if message else f"error {_text(code)} without a message",
        **({"data": error["data"]} if error.get("data") is not None else {}),
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else json_text.dumps(value)
