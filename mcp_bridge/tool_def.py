"""A tool as a synchronous registry holds it: its description, and a plain function that calls it."""

from __future__ import annotations

import concurrent.futures
import logging
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from .bridge.thread import BridgeThread
from .config.server_config import ServerConfig
from .errors import BridgeError, CallTimeout, ServerUnavailable, ToolExecutionError
from .registry_config import DEFAULTS
from .text.cleaning import cut_middle
from .tools.failure_text import tell_error, tell_result
from .tools.result import ToolResult
from .tools.tool import Tool

logger = logging.getLogger(__name__)

SLACK_SECONDS = 5.0
"""How much longer than their own limits calls and starts are waited for."""


@dataclass
class ToolDef:
    """A tool as a registry holds it; `func(**arguments)` calls it and returns text."""

    name: str
    description: str
    input_schema: dict[str, Any]
    func: Callable[..., str]
    max_result_chars: int = DEFAULTS["max_result_chars"]

    def truncate_result(self, text: str) -> str:
        """Return at most `max_result_chars` of a text, its middle cut out; all of it if that is 0."""
        return cut_middle(text, self.max_result_chars) if self.max_result_chars > 0 else text

    def to_openai_schema(self, mode: Literal["chat_completions", "responses"] = "chat_completions") -> dict[str, Any]:
        """Return the definition as the chat completions API takes it, or the responses API."""
        function = {"name": self.name, "description": self.description, "parameters": self.input_schema}
        return {"type": "function", **(function if mode == "responses" else {"function": function})}


class Registry(Protocol):
    """What is needed of a host's registry."""

    def get_tool_names(self) -> list[str]: ...

    def register_tools(self, tools: list[ToolDef], /) -> object: ...


def make_tool_def(tool: Tool, server: ServerConfig, running: Callable[[], BridgeThread | None]) -> ToolDef:
    """Return the definition of a tool of `server`.

    `running` gives the bridge to call it through, None if that is shut down. `func` blocks its caller
    until the tool has answered. It raises `ToolExecutionError` if the tool itself failed, and returns a
    text for the model if the server is not there or takes too long.
    """

    def func(**kwargs: Any) -> str:
        logger.debug("calling %s with %s", tool.name, ", ".join(kwargs) or "no arguments")
        try:
            result = _result(tool, server, running(), kwargs)
        except BridgeError as error:
            logger.error("%s failed: %s", tool.name, error.message)
            return tell_error(error, tool.server, tool.remote_name)
        text = tell_result(result, tool.server, tool.remote_name)
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
        future.cancel()  # nothing to a call that is done; one whose caller was interrupted must end


def _longest_call(server: ServerConfig, tool: str) -> float:
    """Return how many seconds the slowest call takes that its own limits allow: its server may have to start first."""
    return server.start_limit + 2 * server.connect_timeout + server.call_limits(tool).total + SLACK_SECONDS
