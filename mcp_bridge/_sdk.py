"""The seam to the official `mcp` package: the only module that knows which major is installed.

Works on wire dicts, so that attribute names do not matter, and sends its own requests with
a permissive result type, since both majors lose whole answers to small mistakes of servers.
Importing this module imports the SDK (0.5 s, 40 MiB): do it late, and off a host's loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any, ClassVar, cast

import anyio
import mcp.types as types
from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared import exceptions
from mcp.shared.message import SessionMessage
from pydantic import BaseModel, ConfigDict

from .errors import RpcError

SDK_VERSION = version("mcp")
MAJOR = int(SDK_VERSION.split(".", 1)[0])

httpx: Any = import_module("httpx2" if MAJOR >= 2 else "httpx")
"""The HTTP client that the SDK uses; the two are alike in all that we use."""
CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError)
"""What the streams of a session raise when it has ended."""
_TYPES: Any = types  # the two majors offer different names
SdkError: type[Exception] = getattr(exceptions, "MCPError" if MAJOR >= 2 else "McpError")
_parse: Callable[[Any], Any] = (
    _TYPES.jsonrpc_message_adapter.validate_python if MAJOR >= 2 else _TYPES.JSONRPCMessage.model_validate
)

CallToolResult = types.CallToolResult
"""What callers get who want a result in the SDK's own form."""
Streams = tuple[Any, Any]
"""The pair that a session is made of: what the server says, and what is said to it."""


class _Wire(BaseModel):
    """Any request or notification; the SDK dumps it and never looks inside."""

    name_param: ClassVar[None] = None  # what the SDK 2.x asks a request for
    method: str
    params: dict[str, Any] | None = None


class _AnyResult(BaseModel):
    model_config = ConfigDict(extra="allow")


def to_session(message: dict[str, Any], metadata: Any = None) -> SessionMessage:
    """Return a wire dict as the SDK's session wants it. Raises `ValueError` if it is no message."""
    return SessionMessage(_parse(message), metadata)


def to_wire(message: SessionMessage) -> dict[str, Any]:
    """Return a message of the SDK's session as a wire dict."""
    wire: dict[str, Any] = message.message.model_dump(by_alias=True, mode="json", exclude_none=True)
    return wire


def call_tool_result(wire: Mapping[str, Any]) -> CallToolResult:
    """Return a raw result as the SDK's class. Raises `ValueError` if that cannot hold it."""
    return CallToolResult.model_validate(wire)


def tool(name: str, description: str, input_schema: Mapping[str, Any], annotations: Mapping[str, Any]) -> types.Tool:
    """Return a tool as the SDK describes it; of its annotations only the hints that are true or false."""
    hints = {key: value for key, value in annotations.items() if key.endswith("Hint") and isinstance(value, bool)}
    wire = {"name": name, "description": description, "inputSchema": input_schema, "annotations": hints}
    return types.Tool.model_validate(wire)


def session(read: Any, write: Any) -> AbstractAsyncContextManager[ClientSession]:
    """Return the SDK's session over a stream pair; it must be entered and left in one task."""
    return ClientSession(read, write)


async def request(session: ClientSession, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send a request and return the raw result. Without a time limit: the caller has one.

    Raises `RpcError` for an error answer and `ConnectionError` if the session has ended.
    """
    try:
        result = await session.send_request(cast(Any, _Wire(method=method, params=params)), _AnyResult)
    except SdkError as error:
        answer = cast(Any, error).error
        raise RpcError(answer.message, code=answer.code, data=answer.data) from None
    except CLOSED as error:
        raise ConnectionError("the session has ended") from error
    return result.model_extra or {}


async def notify(session: ClientSession, method: str, params: dict[str, Any] | None = None) -> None:
    """Send a notification."""
    await session.send_notification(cast(Any, _Wire(method=method, params=params)))


def adopt(session: ClientSession, protocol_version: str) -> None:
    """Tell the session what was agreed: over HTTP each further request must name it."""
    if MAJOR >= 2:
        cast(Any, session).adopt(_agreed(protocol_version))


@cache
def _agreed(protocol_version: str) -> types.InitializeResult:
    info = {"name": "server", "version": ""}
    wire = {"protocolVersion": protocol_version, "capabilities": {}, "serverInfo": info}
    return types.InitializeResult.model_validate(wire)


@asynccontextmanager
async def streamable_http(url: str, client: Any) -> AsyncIterator[Streams]:
    """Open the SDK's streamable HTTP transport over an HTTP client of ours."""
    async with _closing() as closing, streamable_http_client(url, http_client=client) as (read, write, *_):
        closing.extend((read, write))
        yield read, write


@asynccontextmanager
async def sse(url: str, make_client: Callable[..., Any], read_seconds: float) -> AsyncIterator[Streams]:
    """Open the SDK's SSE transport over HTTP clients of ours."""
    opened = sse_client(url, sse_read_timeout=read_seconds, httpx_client_factory=make_client)
    async with _closing() as closing, opened as (read, write):
        closing.extend((read, write))
        yield read, write


@asynccontextmanager
async def _closing() -> AsyncIterator[list[Any]]:
    """Close streams after the transport that writes to them: it logs a traceback of one that is closed before.

    The SDK 1.x leaves closing to the garbage collector.
    """
    streams: list[Any] = []
    try:
        yield streams
    finally:
        for stream in streams:
            await stream.aclose()


class Outward:
    """What a session writes to: each message is carried on by the task that sends it.

    Spares a message the way through a stream and another task, which the SDK asks of nobody.
    """

    def __init__(self, carry: Callable[[dict[str, Any], Any], Awaitable[None]]) -> None:
        self._carry: Callable[[dict[str, Any], Any], Awaitable[None]] | None = carry

    async def send(self, item: SessionMessage) -> None:
        """Carry a message on. Raises `anyio.ClosedResourceError` after `aclose`."""
        if self._carry is None:
            raise anyio.ClosedResourceError
        await self._carry(to_wire(item), item.metadata)

    async def aclose(self) -> None:
        self._carry = None  # the SDK's session refers to itself, and through us it would keep the whole channel

    async def __aenter__(self) -> Outward:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()


class Inward:
    """What a session reads from: what the server says, in order, until `end`.

    A queue of ours is read in one step; the SDK's own streams go round the loop for every message.
    """

    def __init__(self) -> None:
        self._items: deque[dict[str, Any]] = deque()
        self._changed = asyncio.Event()
        self._ended = False

    def pass_on(self, message: dict[str, Any]) -> None:
        """Hand a message over; the SDK's own form of it is made when the session takes it."""
        self._items.append(message)
        self._changed.set()

    def end(self) -> None:
        """Tell the session that nothing more will come."""
        self._ended = True
        self._changed.set()

    def __aiter__(self) -> Inward:
        return self

    async def __anext__(self) -> SessionMessage:
        while not self._items:
            if self._ended:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return to_session(self._items.popleft())

    async def aclose(self) -> None:
        self.end()

    async def __aenter__(self) -> Inward:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()
