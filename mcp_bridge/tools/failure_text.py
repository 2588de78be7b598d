"""Texts for a model about failed calls: what failed, on which server, and what to try."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import BridgeError, CallTimeout, PermissionDenied, RateLimited, ServerUnavailable, ToolNotFound
from .result import ToolResult

_ADVICE: Mapping[type[BridgeError], str] = {
    CallTimeout: "Try once more with a smaller request, or answer without this tool.",
    ServerUnavailable: "Answer without this tool; trying again at once will not help.",
    PermissionDenied: "Do not try again; tell the user that it is not allowed here.",
    RateLimited: "Answer without this tool, or try again after that time.",
    ToolNotFound: "Use another tool.",
}
_OTHER_ADVICE = "Answer without this tool."


def failure_text(error: BridgeError, server: str | None = None, tool: str | None = None) -> str:
    """Return the text for a call without a result, naming its server and tool if they are given."""
    text = error.message
    if server is not None and f"'{server}'" not in text:
        text = f"MCP server '{server}': {text}" if tool is None else f"tool '{tool}' of MCP server '{server}': {text}"
    return f"{text}. {_ADVICE.get(type(error), _OTHER_ADVICE)}"


def result_text(result: ToolResult, server: str, tool: str) -> str:
    """Return the text of a result; that of a failure begins with the tool and the server that reported it."""
    if not result.is_error:
        return result.text
    return f"Tool '{tool}' of MCP server '{server}' reported an error: {result.text}"
