"""Clients in the style of agentscope: one server each, its tools as async functions.

A stateful client keeps one session until it is closed; the stateless one gives every call
a session of its own. Names of tools are the server's own.
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

_TEXT_OPTIONS = ("encoding", "encoding_error_handler")  # agentscope's; MCP is UTF-8, and the rest is replaced
_Stateful = TypeVar("_Stateful", bound="_StatefulClient")


class _Client:
    """A server and its tools; further `options` are keys of a server's entry in a configuration."""

    is_stateful: ClassVar[bool] = False
    _strategy: ClassVar[Mapping[str, Any]] = {"session": "fresh", "warm": 0}

    def __init__(self, name: str, entry: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        """Raises `ConfigError` if the entry cannot be used, and `TypeError` for an option that there is not."""
        config = checked_config_of_one(name, {**self._strategy, **entry, **options})
        self.name = name
        self._config = config.servers[0]
        self._server = SingleServer(name, lambda: config)

    @property
    def is_connected(self) -> bool:
        """Whether the server has been reached, and the client was not closed since."""
        return self._server.is_open

    async def list_tools(self) -> list[MCPToolFunction]:
        """Return the tools, from memory once they are known; new objects each time. Raises `ServerUnavailable`."""
        make = await self._maker()
        return [make(tool) for tool in self._server.tools()]

    async def get_callable_function(
        self, func_name: str, wrap_tool_result: bool = True, execution_timeout: float | None = None
    ) -> MCPToolFunction:
        """Return a tool as a function, each call of which takes at most `execution_timeout` seconds.

        Raises `ValueError` if the server has no such tool, also when asked again.
        """
        make, tool = await self._maker(), await self._server.find(func_name)
        return make(tool, wrap_tool_result=wrap_tool_result, execution_timeout=execution_timeout)

    async def close(self, ignore_errors: bool = True) -> None:
        """End running calls, the session and the server: from any task, in any order, also repeatedly.

        Raises `TimeoutError` if the server does not end in time, unless `ignore_errors`.
        """
        if not await self._server.close() and not ignore_errors:
            raise TimeoutError(f"MCP server '{self.name}' did not end in time")

    async def _prepare(self) -> None:
        """Make sure that the server is open, or raise what says how to open it."""
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
        """Go on with a new session, which knows nothing of what was done in the old one."""
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
        """Take at most `timeout` seconds to reach the server, and wait `sse_read_timeout` for news of a call."""
        entry = {"transport": transport, "url": url, "headers": headers, "connect_timeout": timeout}
        super().__init__(name, {**entry, "call_timeout": sse_read_timeout}, options)


class HttpStatelessClient(_HttpClient):
    """A remote server that needs no `connect`: each call has a session of its own."""


class HttpStatefulClient(_HttpClient, _StatefulClient):
    """A remote server with one session from `connect` to `close`."""


class StdioStatefulClient(_StatefulClient):
    """A program that speaks MCP on its standard input and output, running from `connect` to `close`."""

    def __init__(
        self,
        name: str,
        command: str,
        args: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        """`env` is added to the little that a program inherits; the protocol's text is always UTF-8."""
        words = args if isinstance(args, str) else list(args or ())  # a text is refused, with what to write
        entry = {"command": command, "args": words, "env": env, "cwd": cwd and str(cwd)}
        super().__init__(name, entry, {key: one for key, one in options.items() if key not in _TEXT_OPTIONS})


StdIOStatefulClient = StdioStatefulClient
