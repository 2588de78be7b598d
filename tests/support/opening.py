"""A session that is being opened for a call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_bridge import load_config
from mcp_bridge.sessions.requests import ToolRequest
from mcp_bridge.sessions.session import Session
from mcp_bridge.text.redaction import Redactor
from mcp_bridge.transport.route import Route, SharedResources
from mcp_bridge.transport.stdio.guardian import Guardian


@asynccontextmanager
async def opening(file: Path, call: ToolRequest) -> AsyncIterator[Session]:
    """Yield a session that is being opened for a call."""
    (config,) = load_config(file).servers
    guardian = Guardian()
    route = Route(config, SharedResources(guardian, Redactor(), 2**20))
    session = Session(config, route, str)
    session.prepare(call)
    try:
        yield session
    finally:
        await session.close()
        guardian.close()
