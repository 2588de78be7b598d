"""The stages that every call passes first: is it allowed here, and what are its arguments."""

from __future__ import annotations

from dataclasses import replace

from ..config.rules import is_admitted
from ..errors import PermissionDenied
from ..tools.arguments.repair import ArgumentsError, parse_arguments
from ..tools.result import ToolResult, error_result
from .call import Call, Proceed


async def permit(call: Call, proceed: Proceed) -> ToolResult:
    """Refuse what `chats` and `users` do not allow. Raises `PermissionDenied`."""
    if not is_admitted(call.config, call.chat, call.user):
        tool = call.tool
        text = f"tool '{tool.name}' of MCP server '{tool.server}' is not allowed in this chat"
        raise PermissionDenied(text, server=tool.server)
    return await proceed(call)


async def repair_call(call: Call, proceed: Proceed) -> ToolResult:
    """Turn what a model wrote into arguments for the server; what cannot be read is the result."""
    try:
        arguments = call.tool.arguments_for_server(parse_arguments(call.arguments))
    except ArgumentsError as error:
        return error_result(str(error), max_chars=call.config.max_result_chars)
    return await proceed(replace(call, arguments=arguments))
