"""Clients in the style of agentscope: one server each, its tools as async functions.

A stateful client keeps one session until it is closed; the stateless one opens a session for every
call. Tools have the server's own names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Literal, TypeVar

from ..tools.result import ToolResult
from .agentscope import tool_function_class
from .server_params import KEPT_SESSION, checked_config_of_one
from .single_server import SingleServer
from .tool_function import MCPToolFunction

_IGNORED_OPTIONS = ("encoding", "encoding_error_handler")
"""Options of agentscope: MCP is always UTF-8 here, and invalid bytes are replaced."""
_Stateful = TypeVar("_Stateful", bound="_StatefulClient")


class _Client:
    """A server and its tools; `options` are further keys of a server's configuration."""

    is_stateful: ClassVar[bool] = False
    _strategy: ClassVar[Mapping[str, Any]] = {"session": "fresh", "warm": 0}

    def __init__(self, name: str, entry: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        """Raises `ConfigError` if the entry cannot be used, and `TypeError` for an unknown option."""
        config = checked_config_of_one(name, {**self._strategy, **entry, **options})
        self.name = name
        self._config = config.servers[0]
        self._server = SingleServer(name, lambda: config)

    @property
    def is_connected(self) -> bool:
        """Whether the server was reached and the client has not been closed since."""
        return self._server.is_open

    async def list_tools(self) -> list[MCPToolFunction]:
        """Return the tools as last listed, as new objects. Raises `ServerUnavailable`."""
        make = await self._maker()
        return [make(tool) for tool in self._server.tools()]

    async def get_callable_function(
        self, func_name: str, wrap_tool_result: bool = True, execution_timeout: float | None = None
    ) -> MCPToolFunction:
        """Return a tool as a function whose calls take at most `execution_timeout` seconds.

        Raises `ValueError` if the server has no such tool, even after listing its tools again.
        """
        make, tool = await self._maker(), await self._server.find(func_name)
        return make(tool, wrap_tool_result=wrap_tool_result, execution_timeout=execution_timeout)

    async def close(self, ignore_errors: bool = True) -> None:
        """Cancel running calls and end the session and the server. Works from any task; safe to repeat.

        Raises `TimeoutError` if the server does not stop in time, unless `ignore_errors`.
        """
        if not await self._server.close() and not ignore_errors:
            raise TimeoutError(f"MCP server '{self.name}' has not stopped in time")

    async def _prepare(self) -> None:
        """Open the server; a client with `connect` raises `RuntimeError` instead."""
        await self._server.open()

    async def _call(self, name: str, arguments: Mapping[str, Any], seconds: float | None) -> ToolResult:
        await self._prepare()
        return await self._server.call(name, arguments, seconds)

    async def _maker(self) -> Callable[..., MCPToolFunction]:
        await self._prepare()
        make = await asyncio.to_thread(tool_function_class)
        return partial(make, self._call, max_chars=self._config.max_result_chars)


class _StatefulClient(_Client):
    is_stateful = True
    _strategy: ClassVar[Mapping[str, Any]] = KEPT_SESSION

    async def connect(self) -> None:
        """Start the server and its session. Raises `ServerUnavailable`, and `RuntimeError` if connected."""
        if self.is_connected:
            raise RuntimeError(f"MCP client '{self.name}' is already connected; call close() first")
        await self._server.open()

    async def reset_session(self) -> None:
        """Replace the session by a new one, without the state of the old one."""
        await self.close()
        await self.connect()

    async def __aenter__(self: _Stateful) -> _Stateful:
        await self.connect()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _prepare(self) -> None:
        if not self.is_connected:
            raise RuntimeError(f"MCP client '{self.name}' is not connected; await its connect() first")


class _HttpClient(_Client):
    def __init__(
        self,
        name: str,
        transport: Literal["streamable_http", "sse"] = "streamable_http",
        url: str = "",
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        sse_read_timeout: float = 300.0,
        **options: Any,
    ) -> None:
        """`timeout` limits connecting, `sse_read_timeout` a call without answer or progress; both in seconds."""
        entry = {"transport": transport, "url": url, "headers": headers, "connect_timeout": timeout}
        super().__init__(name, {**entry, "call_timeout": sse_read_timeout}, options)


class HttpStatelessClient(_HttpClient):
    """A remote server without `connect`: each call has a session of its own."""


class HttpStatefulClient(_HttpClient, _StatefulClient):
    """A remote server with one session from `connect` to `close`."""


class StdioStatefulClient(_StatefulClient):
    """A program that speaks MCP over stdio, running from `connect` to `close`."""

    def __init__(
        self,
        name: str,
        command: str,
        args: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        """`env` is added to the few inherited variables."""
        words = args if isinstance(args, str) else list(args or ())  # a string is refused later, with advice
        entry = {"command": command, "args": words, "env": env, "cwd": cwd and str(cwd)}
        super().__init__(name, entry, {key: one for key, one in options.items() if key not in _IGNORED_OPTIONS})


StdIOStatefulClient = StdioStatefulClient
