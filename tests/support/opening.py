"""A session that is being opened for a call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_bridge import load_config
from mcp_bridge.sessions.in_flight import ToolCall
from mcp_bridge.sessions.session import Connection
from mcp_bridge.text.redaction import Redactor
from mcp_bridge.transport.route import Route, SharedResources
from mcp_bridge.transport.stdio.guardian import Guardian


@asynccontextmanager
async def opening(file: Path, call: ToolCall) -> AsyncIterator[Connection]:
    """Yield a session that is being opened for a call."""
    (config,) = load_config(file).servers
    guardian = Guardian()
    route = Route(config, SharedResources(guardian, Redactor(), 2**20))
    connection = Connection(config, route, str)
    connection.prepare(call)
    try:
        yield connection
    finally:
        await connection.close()
        guardian.close()
