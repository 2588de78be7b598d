"""A manager that registers every tool of every MCP server in a program's own registry of functions.

`MCPManager.initialize` starts the servers of an `mcp.json` and registers a `ToolDef` for each tool. All
sessions run on a `BridgeThread`: the functions work without an event loop, inside a running one (which they
block), and from many threads at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from ..bridge.bridge import ServerStatus
from ..bridge.thread import BridgeThread
from ..config.server_config import ServerConfig
from ..errors import ToolNotFound
from ..tools.names import ToolId
from .registry_config import MCPConfigLoader
from .tool_def import SLACK_SECONDS, ToolDef, make_tool_def

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.02
SHUTDOWN_SECONDS = 30.0
"""Longest wait of `shutdown`. Calls that still run then end by their own limits, in the background."""


class Registry(Protocol):
    """The methods of a registry that the manager uses."""

    def get_tool_names(self) -> list[str]: ...

    def register_tools(self, tools: list[ToolDef], /) -> object: ...


class MCPManager:
    """Runs the servers of the `mcp.json` that `MCPConfigLoader` finds; their tools may be called from any thread."""

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
        """Start the servers and register their tools.

        Returns when each server is ready or has failed, and at the latest after its `connect_timeout`. Tools
        that a server lists later are registered while this loop runs, or by another call of this.
        Raises only what the registry raises, after shutting everything down.
        """
        self._registry, self._loop = registry, asyncio.get_running_loop()
        try:
            if not self._initialized and self._bridge is None:
                self._start()
            if (bridge := self._bridge) is not None:
                seconds = max(server.connect_timeout for server in self._servers.values())
                await _until(bridge.wait_ready, seconds + SLACK_SECONDS)
            if self._bridge is bridge:  # otherwise it was shut down while waiting
                self._initialized = True
                self._register()
        except BaseException:
            self._close_soon()
            raise

    async def shutdown(self) -> None:
        """Stop all servers after their running calls, and wait for it. Works in any loop; safe to repeat."""
        self._close_soon()
        if self._ending is not None and not await _until(self._ending.join, SHUTDOWN_SECONDS):
            logger.warning(
                "MCP calls are still running after %g s; their servers stop when they finish", SHUTDOWN_SECONDS
            )

    @property
    def is_initialized(self) -> bool:
        """Whether `initialize` has finished, even without any server."""
        return self._initialized

    @property
    def connected_servers(self) -> list[str]:
        """The names of the servers that are ready now."""
        return [status.name for status in self._status() if status.state == "ready"]

    def get_server_info(self) -> list[dict[str, Any]]:
        """Return name, transport, status, tool_count, tools and last_error of each server.

        `status` is starting, ready, retrying, failed or disabled. `tools` are the registered ones, by
        the server's own names. `last_error` is None for a server that is ready.
        """
        info: list[dict[str, Any]] = []
        for status in self._status():
            tools = [origin.remote_name for origin in self._origins.values() if origin.server == status.name]
            error = None if status.state == "ready" else status.reason or None
            row = {"name": status.name, "transport": self._servers[status.name].transport, "status": status.state}
            info.append({**row, "tool_count": len(tools), "tools": tools, "last_error": error})
        return info

    def origin(self, name: str) -> tuple[str, str]:
        """Return the server of a registered tool, and its own name there. Raises `ToolNotFound` for any other name."""
        if name not in self._origins:
            raise ToolNotFound(f"no MCP tool is registered as '{name}'")
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
        """Register changes on the loop that `initialize` ran in; called on the bridge's thread."""
        if self._initialized and self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
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


async def _until(happened: Callable[[float], bool], seconds: float) -> bool:
    """Poll instead of waiting on a worker thread of the loop: all of them may be busy with tools."""
    deadline = time.monotonic() + seconds
    while not happened(0):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True
