"""The innermost stage: the call itself, on a session lent for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..calls.call import Call
from ..errors import CallTimeout, NotSent, RpcError, ServerUnavailable, SessionExpired, SessionRefused
from ..sessions.requests import ToolRequest
from ..tools.result import ToolResult, convert, error_result
from .server import Server

UNAUTHORIZED = 401


class Sending:
    """Sends calls to their servers. `server` returns a server by name, or raises `ServerUnavailable`."""

    def __init__(self, server: Callable[[str], Server], redact: Callable[[str], str]) -> None:
        self._server = server
        self._redact = redact

    async def __call__(self, call: Call) -> ToolResult:
        """Return the tool's result, which may be a failure. Raises `ServerUnavailable`, `CallTimeout`."""
        tool, limit = call.tool, call.config.max_result_chars
        try:
            raw = await self._send(call, self._server(tool.server))
        except RpcError as error:
            return error_result(f"{error.message} (code {error.code})", max_chars=limit)
        except (ServerUnavailable, CallTimeout) as error:
            text = f"tool '{tool.remote_name}' of MCP server '{tool.server}': {error.message}"
            kind = CallTimeout if isinstance(error, CallTimeout) else ServerUnavailable
            raise kind(text, server=tool.server) from None
        return convert(raw, max_chars=limit, mask_errors=self._redact)

    async def _send(self, call: Call, server: Server) -> dict[str, Any]:
        name = call.tool.remote_name
        deadline = call.config.call_limits(name)
        request = ToolRequest(name, call.arguments if isinstance(call.arguments, dict) else {}, call.headers)
        for attempt in (1, 2):
            async with server.lease(request, call.chat) as session:
                try:
                    return await session.call_tool(request, deadline)
                except NotSent:  # a spare that had died: the server has not received the call
                    if attempt == 2:
                        raise
                except (SessionExpired, SessionRefused) as error:  # the server was restarted
                    server.sessions.renew()
                    if error.status != UNAUTHORIZED:  # listing would fail, too, and is not tried again then
                        server.refresh_soon()
                    if attempt == 2 or isinstance(error, SessionRefused):
                        raise
        raise AssertionError("unreachable")
