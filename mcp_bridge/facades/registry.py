"""A manager that puts every tool of every MCP server into a host's own registry of functions.

`MCPManager.initialize` starts the servers of an `mcp.json` and registers a `ToolDef` for each tool. All
sessions live on a `BridgeThread`, so the functions work without a loop, inside a running one (which they
block meanwhile), and from many threads at once.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from ..bridge.bridge import ServerStatus
from ..bridge.thread import BridgeThread
from ..config.server_config import ServerConfig
from ..errors import BridgeError, CallTimeout, ServerUnavailable, ToolExecutionError, ToolNotFound
from ..text.cleaning import cut_middle
from ..tools.failure_text import failure_text, result_text
from ..tools.names import ToolId
from ..tools.result import ToolResult
from ..tools.tool import Tool
from .registry_config import DEFAULTS
from .registry_config import MCPConfigLoader as MCPConfigLoader
from .registry_config import MCPServerConfig as MCPServerConfig

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.02
SHUTDOWN_SECONDS = 30.0
"""Most that `shutdown` waits: calls that still run then end by their own limits, in the background."""


class MCPManager:
    """Owns the servers of the `mcp.json` that `MCPConfigLoader` finds; its tools may be called from any thread."""

    def __init__(self, workspace_root: str | Path = ".") -> None:
        self._workspace_root = workspace_root
        self._servers: dict[str, ServerConfig] = {}
        self._origins: dict[str, ToolId] = {}
        self._skipped: set[str] = set()
        self._bridge: BridgeThread | None = None
        self._ending: BridgeThread | None = None
        self._initialized = False
        self._registry: Registry | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def initialize(self, registry: Registry) -> None:
        """Start the servers and register their tools, once each is ready, has failed, or its time is up.

        What comes later is registered while this loop runs, or when this is called again. Raises only
        what the registry raises, with everything shut down.
        """
        self._registry, self._loop = registry, asyncio.get_running_loop()
        try:
            if not self._initialized and self._bridge is None:
                self._start()
            if (bridge := self._bridge) is not None:
                seconds = max(server.connect_timeout for server in self._servers.values())
                await _until(bridge.wait_ready, seconds + SLACK_SECONDS)
            if self._bridge is bridge:  # else it was shut down meanwhile
                self._initialized = True
                self._register()
        except BaseException:
            self._close_soon()
            raise

    async def shutdown(self) -> None:
        """End all servers, after calls that still run, and wait for it; in any loop, and more than once."""
        self._close_soon()
        if self._ending is not None and not await _until(self._ending.join, SHUTDOWN_SECONDS):
            logger.warning("MCP calls still run after %g s; their servers end after them", SHUTDOWN_SECONDS)

    @property
    def is_initialized(self) -> bool:
        """Whether `initialize` is through, also if there was nothing to start."""
        return self._initialized

    @property
    def connected_servers(self) -> list[str]:
        """The names of the servers that are ready now."""
        return [status.name for status in self._status() if status.state == "ready"]

    def get_server_info(self) -> list[dict[str, Any]]:
        """Return name, transport, status, tool_count, tools and last_error of each server.

        `status` is starting, ready, retrying, failed or disabled. `tools` are those registered, by
        the names that the server gives them. `last_error` is None for a server that is up.
        """
        info: list[dict[str, Any]] = []
        for status in self._status():
            tools = [origin.remote_name for origin in self._origins.values() if origin.server == status.name]
            error = None if status.state == "ready" else status.reason or None
            row = {"name": status.name, "transport": self._servers[status.name].transport, "status": status.state}
            info.append({**row, "tool_count": len(tools), "tools": tools, "last_error": error})
        return info

    def origin(self, name: str) -> tuple[str, str]:
        """Return server and own name of a registered tool. Raises `ToolNotFound` for any other name."""
        if name not in self._origins:
            raise ToolNotFound(f"'{name}' is no tool of an MCP server")
        origin = self._origins[name]
        return origin.server, origin.remote_name

    def _status(self) -> list[ServerStatus]:
        bridge = self._bridge
        return bridge.status() if bridge is not None else []

    def _start(self) -> None:
        config = MCPConfigLoader.read(workspace_root=self._workspace_root)
        self._servers = {server.name: server for server in config.servers}
        if config.servers:
            self._bridge = BridgeThread(config, on_change=self._changed)
            self._bridge.start()

    def _close_soon(self) -> None:
        self._initialized = False
        if self._bridge is not None:
            self._bridge.close_soon()
            self._ending, self._bridge = self._bridge, None

    def _changed(self) -> None:
        """Called on the bridge's thread; a registry is only ever touched on the loop that gave it."""
        if self._initialized and self._loop is not None:
            with contextlib.suppress(RuntimeError):  # that loop has ended
                self._loop.call_soon_threadsafe(self._register)

    def _register(self) -> None:
        if self._bridge is None or self._registry is None:
            return
        tools, taken = self._bridge.tools(), set(self._registry.get_tool_names())
        for tool in tools:
            if tool.name in taken - self._origins.keys() - self._skipped:
                logger.warning("tool '%s' of MCP server '%s' skipped: the name is taken", tool.name, tool.server)
                self._skipped.add(tool.name)
        new = [tool for tool in tools if tool.name not in taken]
        if new:
            made = [make_tool_def(tool, self._servers[tool.server], lambda: self._bridge) for tool in new]
            self._registry.register_tools(made)
            self._origins = self._origins | {tool.name: tool.id for tool in new}


async def _until(came: Callable[[float], bool], seconds: float) -> bool:
    """Poll, so that no worker thread of the host's loop is held: they may all be waiting for tools."""
    deadline = time.monotonic() + seconds
    while not came(0):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True


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
        future.cancel()  # nothing to a call that is done; one whose caller was interrupted must end


def _longest_call(server: ServerConfig, tool: str) -> float:
    """Return how many seconds the slowest call takes that its own limits allow: its server may have to start first."""
    return server.start_limit + 2 * server.connect_timeout + server.call_limits(tool).total + SLACK_SECONDS
