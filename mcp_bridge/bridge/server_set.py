"""The configured servers of a bridge, also after an edit of the configuration."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from pathlib import Path

from ..aio import wait_for_event
from ..config.bridge_config import BridgeConfig
from ..config.server_config import ServerConfig
from ..errors import ServerUnavailable
from ..sessions.spares import SpareBudget
from ..store.approvals import Approvals
from ..store.catalogue import StoredCatalogues
from ..tools.names import server_prefix
from ..transport.route import SharedResources
from .server import Server

logger = logging.getLogger(__name__)

RETIRE_SECONDS = 600.0
"""How long running calls of a removed or changed server may go on; their own limits end them earlier."""


class ServerSet:
    """`servers` by name, in the order of the configuration, each with the task that runs it.

    With `only`, no other servers are started.
    """

    def __init__(
        self,
        shared: SharedResources,
        data_dir: Path,
        on_listing: Callable[[], None],
        only: Collection[str] | None = None,
    ) -> None:
        self.servers: dict[str, Server] = {}
        self._shared = shared
        self._snapshots, self._approvals = StoredCatalogues(data_dir), Approvals(data_dir)
        self._budget = SpareBudget(0)
        self._on_listing = on_listing
        self._only = only
        self._tasks: dict[Server, asyncio.Task[None]] = {}
        self._retiring: dict[Server, asyncio.Task[None]] = {}

    def adopt(self, config: BridgeConfig) -> None:
        """Adopt a configuration. A server whose entry has not changed goes on undisturbed.

        A removed or changed server gets no new calls, and ends when its running calls have ended.
        """
        self._budget.limit = config.max_spares
        former = self.servers
        self.servers = {entry.name: self._server(entry, former.get(entry.name)) for entry in config.servers}
        for server in former.values():
            if server is not self.servers.get(server.config.name):
                self._retire(server)

    def run(self) -> None:
        """Start every server that is not running yet."""
        for name, server in self.servers.items():
            if self._only is not None and name not in self._only:
                server.attempted.set()
            elif server not in self._tasks:
                self._tasks[server] = asyncio.create_task(server.run(), name=f"mcp server {name}")

    def find(self, name: str) -> Server:
        """Return a server. Raises `ServerUnavailable` if there is none of that name any more."""
        if name not in self.servers:
            raise ServerUnavailable(f"MCP server '{name}' is no longer configured", server=name)
        return self.servers[name]

    def owner(self, tool_name: str) -> Server | None:
        """Return the server whose prefix a public name begins with, the longest such prefix."""
        owners = [one for one in self.servers.values() if tool_name.startswith(server_prefix(one.config.name))]
        # If two servers share a prefix, the one that is down is meant: a tool of the other would have been found.
        return max(owners, key=lambda one: (len(one.config.name), one.state != "ready"), default=None)

    async def close(self) -> None:
        """End every server, its calls, and the tasks."""
        tasks = [*self._tasks.values(), *self._retiring.values()]
        servers = [*self.servers.values(), *self._retiring]
        self._tasks, self._retiring = {}, {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(server.close() for server in servers))

    def _server(self, entry: ServerConfig, former: Server | None) -> Server:
        if former is not None and former.config == entry:
            return former
        return Server(entry, self._shared, self._budget, self._snapshots, self._approvals, self._on_listing)

    def _retire(self, server: Server) -> None:
        task = self._tasks.pop(server, None)
        ending = asyncio.create_task(_end(server, task), name=f"mcp end of {server.config.name}")
        self._retiring[server] = ending
        ending.add_done_callback(lambda task: self._retiring.pop(server, None))


async def _end(server: Server, task: asyncio.Task[None] | None) -> None:
    """End a server that is no longer configured, after its running calls."""
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    if not await wait_for_event(server.quiet, RETIRE_SECONDS):
        logger.warning("calls of MCP server '%s' are ended: it is no longer configured", server.config.name)
    await server.close()
