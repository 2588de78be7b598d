"""Responses in the one form that is passed on, however a server wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def standard_form(message: Message, own_id: object, method: str) -> Message | None:
    """Return a message as both majors of the SDK accept it over HTTP, None if it cannot be one.

    `own_id` and `method` are those of the request that it came in answer to, if any.
    """
    request_id = message.get("id")
    odd_id = isinstance(request_id, bool) or not isinstance(request_id, (int, str))
    if isinstance(message.get("method"), str):
        if "id" in message and odd_id:
            return None
        kept: Message = {key: value for key, value in message.items() if key in ("id", "method")}
        if isinstance(message.get("params"), dict):
            kept["params"] = message["params"]
        return {"jsonrpc": "2.0", **kept}
    if own_id is not None and (odd_id or str(request_id) == str(own_id)):
        request_id, odd_id = own_id, False
    if odd_id:
        return None
    if is_error(message):
        return {"jsonrpc": "2.0", "id": request_id, "error": error_object(message.get("error"))}
    result = result_object(message["result"], method)
    return {"jsonrpc": "2.0", "id": request_id, "result": _complete(result) if method == "initialize" else result}


def _complete(result: Message) -> Message:
    """Return the result of `initialize` with every required member: else the SDK 1.x does not read its version."""
    info, capabilities = result.get("serverInfo"), result.get("capabilities")
    named = {"name": "server", "version": ""} | (info if isinstance(info, dict) else {})
    return {**result, "serverInfo": named, "capabilities": capabilities if isinstance(capabilities, dict) else {}}


def accept_defaults(params: object) -> Message:
    """Accept a form with the defaults that the server names for its fields (SEP-1034)."""
    schema = params.get("requestedSchema") if isinstance(params, Mapping) else None
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    fields: Mapping[str, Any] = properties if isinstance(properties, Mapping) else {}
    named = {name: one["default"] for name, one in fields.items() if isinstance(one, Mapping) and "default" in one}
    plain = {name: json_text.plain(default) for name, default in named.items()}
    # A value that JSON cannot express (NaN) is not a default.
    content = {name: default for name, default in plain.items() if default is not None or named[name] is None}
    return {"action": "accept", "content": content}
