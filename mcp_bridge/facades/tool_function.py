"""A tool of a server as an async function that returns content blocks."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ..errors import BridgeError
from ..tools.failure_text import failure_text, result_text
from ..tools.result import ToolResult
from ..tools.schema.shown import rename_parameters
from ..tools.tool import Tool
from .tool_response import ToolResponse, readable_content

if TYPE_CHECKING:
    from .._sdk import CallToolResult


CallTool = Callable[[str, Mapping[str, Any], "float | None"], Awaitable[ToolResult]]
"""Calls a tool: its public name, the arguments, and a time limit in seconds or None."""
_RESERVED = ("self",)
"""Parameter names that a method cannot take as keywords: a tool's own of that name get a trailing `_`."""


class MCPToolFunction:
    """A tool under the server's own name; call it with the tool's arguments.

    `description` and `inputSchema` are what a model is shown; both are copies, safe to change.
    Returns a `ToolResponse` or, with `wrap_tool_result` false, the SDK's `CallToolResult`. An error
    that the tool reports is part of it. Raises `ServerUnavailable`, `CallTimeout` or `ToolNotFound`, whose
    text names the tool, the server and a remedy: hosts show it to the model.
    """

    def __init__(
        self,
        call: CallTool,
        tool: Tool,
        *,
        wrap_tool_result: bool = True,
        execution_timeout: float | None = None,
        max_chars: int,
    ) -> None:
        self.name = tool.remote_name
        self.mcp_name = tool.server
        self.description = tool.description
        self.inputSchema, self._original = rename_parameters(tool.input_schema, _RESERVED)
        self.annotations = tool.annotations
        self.wrap_tool_result = wrap_tool_result
        self.execution_timeout = execution_timeout or None  # 0 means none, as in agentscope
        self.mcp_tool = tool
        self._call = call
        self._max_chars = max_chars

    async def __call__(self, /, **arguments: Any) -> Any:
        if not self.wrap_tool_result:
            return await self.call_tool(self.name, arguments, self.execution_timeout)
        result = await self._run(arguments, self.execution_timeout)
        return ToolResponse(self._content(result), is_error=result.is_error)

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        read_timeout_seconds: timedelta | float | None = None,
        **unused: Any,
    ) -> CallToolResult:
        """Call the tool with the signature of the SDK's `ClientSession.call_tool`.

        agentscope uses this object as the session of the tool. With `wrap_tool_result` the content is
        text, images and audio only. `name` is always this tool's; other options of the SDK's method,
        such as a progress callback, are ignored.
        """
        from .. import _sdk  # late: importing it takes half a second

        seconds = read_timeout_seconds
        if isinstance(seconds, timedelta):
            seconds = seconds.total_seconds()
        result = await self._run(arguments or {}, seconds)
        if result.raw and not self.wrap_tool_result:
            with contextlib.suppress(ValueError):  # the SDK's class refuses some results that servers send
                return _sdk.call_tool_result(result.raw)
        wire = {"content": self._content(result), "isError": result.is_error}
        wire |= {key: value for key in ("structuredContent", "_meta") if isinstance(value := result.raw.get(key), dict)}
        return _sdk.call_tool_result(wire)

    async def _run(self, arguments: Mapping[str, Any], seconds: float | None) -> ToolResult:
        own = {self._original.get(name, name): value for name, value in arguments.items()}
        try:
            return await self._call(self.mcp_tool.name, own, seconds)
        except BridgeError as error:
            raise _with_text(error, failure_text(error, self.mcp_name, self.mcp_tool.remote_name)) from error

    def _content(self, result: ToolResult) -> list[dict[str, Any]]:
        marked = result_text(result, self.mcp_name, self.mcp_tool.remote_name) if self.wrap_tool_result else result.text
        return readable_content(result, marked, self._max_chars)


def _with_text(error: BridgeError, text: str) -> BridgeError:
    """Return a copy of an error with another text; the constructors of the subclasses differ, so none is called."""
    copied = type(error).__new__(type(error), text)
    vars(copied).update(vars(error))
    return copied
