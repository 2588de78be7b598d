"""A tool of a server as an async function that gives content blocks."""

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


Call = Callable[[str, Mapping[str, Any], "float | None"], Awaitable[ToolResult]]
"""How a tool is called: its public name, arguments, and seconds at the most or None."""
_PYTHON_OWN = ("self",)
"""An argument of that name cannot be passed to a method: it gets a trailing `_`."""


class MCPToolFunction:
    """A tool under the server's own name; call it with the tool's arguments.

    `description` and `inputSchema` are what a model is shown; both are this object's own.
    Gives a `ToolResponse` or, with `wrap_tool_result` false, the SDK's `CallToolResult`. An error
    that the tool reports is part of it. Raises `ServerUnavailable`, `CallTimeout` or `ToolNotFound`, whose
    text says what failed, for which server, and what to try: hosts show it to the model.
    """

    def __init__(
        self,
        call: Call,
        tool: Tool,
        *,
        wrap_tool_result: bool = True,
        execution_timeout: float | None = None,
        max_chars: int,
    ) -> None:
        self.name = tool.remote_name
        self.mcp_name = tool.server
        self.description = tool.description
        self.inputSchema, self._original = rename_parameters(tool.input_schema, _PYTHON_OWN)
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
        """Call the tool as one calls an SDK's session; with `wrap_tool_result` its content is readable.

        agentscope takes this object for the session that the tool is called through. `name` is
        that of this tool, and there is no progress to tell of in `unused`.
        """
        from .. import _sdk  # late: importing it takes half a second

        seconds = read_timeout_seconds
        if isinstance(seconds, timedelta):
            seconds = seconds.total_seconds()
        result = await self._run(arguments or {}, seconds)
        if result.raw and not self.wrap_tool_result:
            with contextlib.suppress(ValueError):  # the SDK's class does not hold everything servers send
                return _sdk.call_tool_result(result.raw)
        wire = {"content": self._content(result), "isError": result.is_error}
        wire |= {key: value for key in ("structuredContent", "_meta") if isinstance(value := result.raw.get(key), dict)}
        return _sdk.call_tool_result(wire)

    async def _run(self, arguments: Mapping[str, Any], seconds: float | None) -> ToolResult:
        own = {self._original.get(name, name): value for name, value in arguments.items()}
        try:
            return await self._call(self.mcp_tool.name, own, seconds)
        except BridgeError as error:
            error.args = (failure_text(error, self.mcp_name, self.mcp_tool.remote_name),)
            raise

    def _content(self, result: ToolResult) -> list[dict[str, Any]]:
        marked = result_text(result, self.mcp_name, self.mcp_tool.remote_name) if self.wrap_tool_result else result.text
        return readable_content(result, marked, self._max_chars)
