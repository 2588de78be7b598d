"""One tool as a registry holds it: its definition, and a synchronous function that calls it."""

from __future__ import annotations

import concurrent.futures
import logging
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

from ..bridge.thread import BridgeThread
from ..config.server_config import ServerConfig
from ..errors import BridgeError, CallTimeout, ServerUnavailable, ToolExecutionError
from ..text.cleaning import cut_middle
from ..tools.failure_text import failure_text, result_text
from ..tools.result import ToolResult
from ..tools.tool import Tool
from .registry_config import DEFAULTS

logger = logging.getLogger(__name__)

SLACK_SECONDS = 5.0
"""Added to the limits of a call while waiting, so that the call's own error arrives first."""


@dataclass
class ToolDef:
    """The definition of a tool; `func(**arguments)` calls it and returns text."""

    name: str
    description: str
    input_schema: dict[str, Any]
    func: Callable[..., str]
    max_result_chars: int = DEFAULTS["max_result_chars"]

    def truncate_result(self, text: str) -> str:
        """Cut the middle out of a text longer than `max_result_chars`; 0 means no limit."""
        return cut_middle(text, self.max_result_chars) if self.max_result_chars > 0 else text

    def to_openai_schema(self, mode: Literal["chat_completions", "responses"] = "chat_completions") -> dict[str, Any]:
        """Return the definition in the form of the chat completions API or the responses API."""
        function = {"name": self.name, "description": self.description, "parameters": self.input_schema}
        return {"type": "function", **(function if mode == "responses" else {"function": function})}


def make_tool_def(tool: Tool, server: ServerConfig, running: Callable[[], BridgeThread | None]) -> ToolDef:
    """Return the definition of a tool of `server`.

    `running` returns the bridge to call it through, None after a shutdown. `func` blocks until the tool has
    answered. It raises `ToolExecutionError` if the tool reports a failure, and returns a text for
    the model if the server is unavailable or takes too long.
    """

    def func(**kwargs: Any) -> str:
        logger.debug("calling %s with %s", tool.name, ", ".join(kwargs) or "no arguments")
        try:
            result = _result(tool, server, running(), kwargs)
        except BridgeError as error:
            logger.error("%s failed: %s", tool.name, error.message)
            return failure_text(error, tool.server, tool.remote_name)
        text = result_text(result, tool.server, tool.remote_name)
        if result.is_error:
            raise ToolExecutionError(text, server=tool.server)
        return text

    func.__name__, func.__doc__ = tool.name, tool.description
    return ToolDef(tool.name, tool.description, deepcopy(tool.input_schema), func, server.max_result_chars)


def _result(tool: Tool, server: ServerConfig, bridge: BridgeThread | None, arguments: dict[str, Any]) -> ToolResult:
    if bridge is None:
        raise ServerUnavailable("the bridge is shut down", server=tool.server)
    future = bridge.submit(tool.name, arguments)
    try:
        return future.result(_longest_call(server, tool.remote_name))
    except concurrent.futures.TimeoutError:
        raise CallTimeout("the call did not end in time", server=tool.server) from None
    finally:
        future.cancel()  # no effect on a finished call; ends a call whose caller was interrupted


def _longest_call(server: ServerConfig, tool: str) -> float:
    """Return the most seconds that the limits allow a call: its server may have to start first."""
    return server.start_limit + 2 * server.connect_timeout + server.call_limits(tool).total + SLACK_SECONDS
