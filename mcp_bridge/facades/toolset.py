"""The tools of one MCP server as plain Python functions, for programs that hand functions to a model.

A toolset keeps one session from `connect` to `disconnect`, so that a server remembers earlier
calls. The session runs on a thread of its own: the functions work in any event loop, also in several.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import replace
from importlib import import_module
from types import TracebackType
from typing import Any, Generic, TypeVar

from ..config.bridge_config import BridgeConfig
from ..errors import BridgeError, ServerUnavailable
from ..tools.failure_text import failure_text, result_text
from ..tools.tool import Tool
from .server_params import KEPT_SESSION, LocalServerParams, RemoteServerParams, config_of_one, local_entry, remote_entry
from .signature import ToolFunction, make_function
from .single_server import SingleServer, ToolsetState
from .tool_selection import ToolFilter, matches_filter, with_prefix

_Params = TypeVar("_Params")
_Toolset = TypeVar("_Toolset", bound="McpToolset[Any]")


class McpToolset(ABC, Generic[_Params]):
    """The tools of one server, between `connect` and `disconnect` or in `async with`.

    `tool_filter` is a predicate over `Tool`, or names: the server's own or the functions'.
    `tool_prefix` replaces `mcp_<name>_`. When the server has ended the session or cannot be
    reached, the next call returns the reason, and the toolset is disconnected; with
    `auto_reconnect` it stays connected, and the call after that opens a new session. No call is
    made twice.
    """

    def __init__(
        self,
        name: str,
        params: _Params,
        *,
        tool_filter: ToolFilter | None = None,
        tool_prefix: str | None = None,
        auto_reconnect: bool = False,
    ) -> None:
        self.name = name
        self._params = params
        self._filter = tool_filter
        self._prefix = tool_prefix
        self._auto_reconnect = auto_reconnect
        self._server = SingleServer(
            name, self._config, "call 'await toolset.connect()' first, or use 'async with toolset:'"
        )

    @abstractmethod
    def _entry(self) -> dict[str, Any]:
        """Return the server's entry in the form of a configuration file."""

    @property
    def state(self) -> ToolsetState:
        return self._server.state

    @property
    def is_connected(self) -> bool:
        return self._server.is_open

    async def __aenter__(self: _Toolset) -> _Toolset:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.disconnect()

    async def connect(self) -> None:
        """Start the server and read its tools; does nothing if connected.

        Raises `ServerUnavailable` with the server's reason, and leaves the toolset disconnected.
        """
        await self._server.open()

    async def disconnect(self) -> None:
        """Let running calls finish and end the server; does nothing if disconnected."""
        await self._server.close()

    async def refresh_tools(self) -> None:
        """List the server's tools again. Raises `ServerUnavailable` if that fails."""
        await self._server.refresh()

    def get_tools(self) -> list[ToolFunction]:
        """Return an `async def` function for each tool, as the server lists them now.

        A function returns text, also for a failure; it raises only if the toolset is not connected.
        """
        tools = with_prefix(self._server.bridge().tools(), self._prefix)
        return [self._function(name, tool) for name, tool in tools.items() if matches_filter(tool, self._filter)]

    def get_tool_defs(self) -> list[Any]:
        """Return a `liteai_sdk.ToolDef` for each tool, with its exact schema. Raises `ImportError` without it."""
        tools = [(function, vars(function)["_mcp_tool"]) for function in self.get_tools()]
        make = import_module("liteai_sdk").ToolDef
        return [make(t.name, t.description, execute=one, parameters=copy.deepcopy(t.input_schema)) for one, t in tools]

    def _config(self) -> BridgeConfig:
        config = config_of_one(self.name, {**self._entry(), **KEPT_SESSION})
        return replace(config, servers=tuple(replace(one, reopen=self._auto_reconnect) for one in config.servers))

    def _function(self, name: str, tool: Tool) -> ToolFunction:
        """Return the function that calls the tool which the bridge offers as `name`."""

        async def call(arguments: dict[str, Any]) -> str:
            bridge = self._server.bridge()
            try:
                result = await bridge.call(name, arguments)
            except BridgeError as error:
                if isinstance(error, ServerUnavailable) and not self._auto_reconnect:
                    self._server.lose(bridge, error.message)
                return failure_text(error, tool.server, tool.remote_name)
            return result_text(result, tool.server, tool.remote_name)

        function = make_function(tool.name, tool.description, tool.input_schema, call)
        vars(function).update(_mcp_tool=tool, __is_tool__=True)  # liteai-sdk recognizes a tool by these marks
        return function


class LocalMcpToolset(McpToolset[LocalServerParams]):
    """The tools of a server that is started as a process."""

    def _entry(self) -> dict[str, Any]:
        return local_entry(self._params)


class RemoteMcpToolset(McpToolset[RemoteServerParams]):
    """The tools of a server that is reached over HTTP."""

    def _entry(self) -> dict[str, Any]:
        return remote_entry(self._params)
