"""The tools of one MCP server as plain Python functions, for programs that hand functions to a model.

A toolset keeps one session from `connect` to `disconnect`, so that a server remembers earlier
calls. It lives on a thread of its own: its functions work in any event loop, also in a new one each.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import replace
from importlib import import_module
from types import TracebackType
from typing import Any, Generic, TypeVar

from ..config.bridge_config import BridgeConfig
from ..errors import BridgeError, ServerUnavailable
from ..tools.failure_text import failure_text, result_text
from ..tools.names import assign_names
from ..tools.tool import Tool
from .server_params import KEPT_SESSION, LocalServerParams, RemoteServerParams, config_of_one, local_entry, remote_entry
from .signature import ToolFunction, make_function
from .single_server import SingleServer, ToolsetState

_Params = TypeVar("_Params")
_Toolset = TypeVar("_Toolset", bound="McpToolset[Any]")


class McpToolset(ABC, Generic[_Params]):
    """The tools of one server, between `connect` and `disconnect` or in `async with`.

    `tool_filter` is a predicate over `Tool`, or names: the server's own or the functions'.
    `tool_prefix` replaces `mcp_<name>_`. Once the server has ended the session or cannot be
    reached, the call that finds out says so, and the toolset is disconnected; with
    `auto_reconnect` it stays, and the next call connects anew. No call is made twice.
    """

    def __init__(
        self,
        name: str,
        params: _Params,
        *,
        tool_filter: Callable[[Tool], bool] | Collection[str] | None = None,
        tool_prefix: str | None = None,
        auto_reconnect: bool = False,
    ) -> None:
        self.name = name
        self._params = params
        self._filter = [tool_filter] if isinstance(tool_filter, str) else tool_filter
        self._prefix = tool_prefix
        self._auto_reconnect = auto_reconnect
        self._server = SingleServer(
            name, self._config, "call 'await toolset.connect()' first, or use 'async with toolset:'"
        )

    @abstractmethod
    def _entry(self) -> dict[str, Any]:
        """Return the server's entry as it would stand in a configuration."""

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
        """Start the server and read its tools; does nothing if that is done.

        Raises `ServerUnavailable` with the server's reason, and leaves the toolset disconnected.
        """
        await self._server.open()

    async def disconnect(self) -> None:
        """Let running calls finish and end the server; does nothing if that is done."""
        await self._server.close()

    async def refresh_tools(self) -> None:
        """Read the server's tools anew. Raises `ServerUnavailable` if it does not give them."""
        await self._server.refresh()

    def get_tools(self) -> list[ToolFunction]:
        """Return an `async def` function for each tool, as the server lists them now.

        A function returns text, also for a failure; it raises only if the toolset is not connected.
        """
        named = {tool.name: tool for tool in self._server.bridge().tools()}
        if self._prefix is not None:
            own = assign_names(named.values(), prefix=self._prefix)
            named = {tool.name: replace(tool, name=name) for name, tool in own.items()}
        return [self._function(name, tool) for name, tool in named.items() if self._wants(tool)]

    def get_tool_defs(self) -> list[Any]:
        """Return a `liteai_sdk.ToolDef` for each tool, with its exact schema. Raises `ImportError` without it."""
        tools = [(function, vars(function)["_mcp_tool"]) for function in self.get_tools()]
        make = import_module("liteai_sdk").ToolDef
        return [make(t.name, t.description, execute=one, parameters=copy.deepcopy(t.input_schema)) for one, t in tools]

    def _config(self) -> BridgeConfig:
        config = config_of_one(self.name, {**self._entry(), **KEPT_SESSION})
        return replace(config, servers=tuple(replace(one, reopen=self._auto_reconnect) for one in config.servers))

    def _wants(self, tool: Tool) -> bool:
        if callable(self._filter):
            return self._filter(tool)
        return self._filter is None or tool.remote_name in self._filter or tool.name in self._filter

    def _function(self, name: str, tool: Tool) -> ToolFunction:
        """Return the function for a tool that the bridge knows by `name`."""

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
        vars(function).update(_mcp_tool=tool, __is_tool__=True)  # marks by which liteai-sdk knows a tool
        return function


class LocalMcpToolset(McpToolset[LocalServerParams]):
    """The tools of a server that is started here."""

    def _entry(self) -> dict[str, Any]:
        return local_entry(self._params)


class RemoteMcpToolset(McpToolset[RemoteServerParams]):
    """The tools of a server that is reached over HTTP."""

    def _entry(self) -> dict[str, Any]:
        return remote_entry(self._params)
