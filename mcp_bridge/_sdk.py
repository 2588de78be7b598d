"""The seam to the official `mcp` package: the only module that knows which major is installed.

Of the SDK we use the HTTP transports and the types that programs expect, not its session: both majors lose
whole responses to small mistakes of servers. Works on wire dicts, so that attribute names do not matter.
Importing this module imports the SDK (0.5 s, 40 MiB): do it late, and not on a host's event loop.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any

import anyio
import mcp.types as types
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

SDK_VERSION = version("mcp")
MAJOR = int(SDK_VERSION.split(".", 1)[0])

httpx: Any = import_module("httpx2" if MAJOR >= 2 else "httpx")
"""The HTTP client that the SDK uses; the two are alike in all that we use."""
CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError)
"""What the streams of a session raise when it has ended."""
_TYPES: Any = types  # the two majors offer different names
_parse: Callable[[Any], Any] = (
    _TYPES.jsonrpc_message_adapter.validate_python if MAJOR >= 2 else _TYPES.JSONRPCMessage.model_validate
)

CallToolResult = types.CallToolResult
"""What callers get who want a result in the SDK's own form."""
Streams = tuple[Any, Any]
"""The pair that a session is made of: what the server says, and what is said to it."""


def to_session(message: dict[str, Any]) -> SessionMessage:
    """Return a wire dict as the SDK's session wants it. Raises `ValueError` if it is not a valid message."""
    return SessionMessage(_parse(message))


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
