"""All configured servers together: start, tools, call, status, refresh, close."""

from __future__ import annotations

import asyncio
import difflib
import logging
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from .approvals import Approvals, Change
from .arguments import ArgumentsError, parse_arguments
from .catalog import Tool
from .config import BridgeConfig
from .connection import Connection, NotSent, SessionExpired
from .deadline import Deadline, happens
from .errors import BridgeError, CallTimeout, PermissionDenied, RpcError, ServerUnavailable, ToolNotFound
from .naming import server_prefix
from .policy import is_admitted
from .pool import SpareBudget
from .process.guardian import Guardian
from .redaction import Redactor
from .result import ToolResult, convert, error_result
from .server import Server, State
from .snapshot import Snapshots, default_data_dir
from .toolbox import Toolbox
from .transport import Surroundings

logger = logging.getLogger(__name__)

MAX_CALL_FACTOR = 10
"""Default of `max_call_time`, in multiples of `call_timeout`."""
NEAR_NAMES = 3


@dataclass(frozen=True)
class ServerStatus:
    """How a server is doing. `tools`, `calls` and `failures` are counts; texts are fit to be shown."""

    name: str
    state: State
    reason: str
    tools: int
    calls: int
    failures: int
    last_error: str


class Bridge:
    """Every tool of every configured server, callable by its public name.

    `data_dir` is where found tools are kept for the next start, by default a folder of the
    user's. `on_change` is called on the loop when the offered tools have changed. With
    `wait=False` entering returns at once, with the stored tools. To be used in one loop.
    With `only`, no other servers than these are started; the names stay those of all.
    """

    def __init__(
        self,
        config: BridgeConfig,
        *,
        data_dir: str | Path | None = None,
        on_change: Callable[[], None] | None = None,
        wait: bool = True,
        only: Collection[str] | None = None,
    ) -> None:
        self.config = config
        self._only = only
        self._data_dir = Path(data_dir) if data_dir is not None else default_data_dir()
        self._on_change = on_change
        self._wait = wait
        self._guardian = Guardian()
        self._redact = Redactor(config.secrets)
        self._servers: dict[str, Server] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._toolbox = Toolbox(config)

    async def __aenter__(self) -> Bridge:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Start all servers concurrently; their failures show in `status`, none is raised."""
        for warning in self.config.warnings:
            logger.warning("%s", warning)
        around = Surroundings(self._guardian, self._redact, self.config.max_message_mib * 2**20)
        budget = SpareBudget(self.config.max_spares)
        snapshots, approvals = Snapshots(self._data_dir), Approvals(self._data_dir)
        for config in self.config.servers:
            self._servers[config.name] = Server(config, around, budget, snapshots, approvals, self._rebuild)
        self._rebuild()
        for name, server in self._servers.items():
            if self._only is not None and name not in self._only:
                server.attempted.set()
                continue
            self._tasks.append(asyncio.create_task(server.run(), name=f"mcp server {server.config.name}"))
        if self._wait:
            try:
                await self.attempted(within_connect_timeout=True)
            except BaseException:
                await self.close()
                raise

    async def attempted(self, *, within_connect_timeout: bool = False) -> None:
        """Wait until each server is ready or has failed once, or its time for that has passed."""
        await asyncio.gather(*(self._attempt(one, within_connect_timeout) for one in self._servers.values()))

    async def known(self) -> None:
        """Wait until each server's tools are known, stored or listed, or its start has failed."""
        unknown = [server for server in self._servers.values() if not server.listing.tools]
        await asyncio.gather(*(server.attempted.wait() for server in unknown))

    def tools(self, chat: str | None = None, user: str | None = None) -> list[Tool]:
        """Return the tools offered to a chat and user, in the order of the configuration."""
        return [
            tool
            for tool in self._toolbox.tools.values()
            if (server := self._servers[tool.server]).offers_tools and is_admitted(server.config, chat, user)
        ]

    def status(self) -> list[ServerStatus]:
        """Return the state of every configured server, in the order of the configuration."""
        counts: dict[str, int] = {}
        for tool in self.tools():
            counts[tool.server] = counts.get(tool.server, 0) + 1
        return [
            ServerStatus(name, one.state, one.reason, counts.get(name, 0), one.calls, one.failures, one.last_error)
            for name, one in self._servers.items()
        ]

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        chat: str | None = None,
        user: str | None = None,
    ) -> ToolResult:
        """Call a tool and return what it gave; a failure of the tool itself is a result, too.

        `arguments` may be JSON text as a model wrote it. Raises `ToolNotFound`,
        `PermissionDenied`, `ServerUnavailable` or `CallTimeout`.
        """
        tool, server = await self._resolve(name)
        if not is_admitted(server.config, chat, user):
            raise PermissionDenied(
                f"tool '{name}' of MCP server '{tool.server}' is not allowed in this chat", server=tool.server
            )
        server.calls += 1
        try:
            result = await self._run(tool, server, arguments, chat)
        except BridgeError as error:
            server.failures += 1
            server.last_error = error.message
            raise
        if result.is_error:
            server.failures += 1
            server.last_error = result.text[:500]
        return result

    async def refresh(self) -> None:
        """List the tools of every enabled server anew and wait for the outcome."""
        enabled = [one for one in self._servers.values() if one.config.enabled and not one.config.error]
        await asyncio.gather(*(server.discover() for server in enabled))

    async def accept(self, server: str) -> list[Change]:
        """Accept the tools of a server as they are now; return what that changes.

        Raises `ToolNotFound` if there is no such server, `BridgeError` if it cannot list them.
        """
        if server not in self._servers:
            near = tuple(difflib.get_close_matches(server, self._servers, NEAR_NAMES, cutoff=0.3))
            hint = f"; near: {', '.join(near)}" if near else ""
            raise ToolNotFound(f"there is no server '{server}'{hint}", near=near)
        return await self._servers[server].accept()

    async def close(self) -> None:
        """End every session and server; safe to call from any task, and more than once."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(server.close() for server in self._servers.values()))
        await asyncio.to_thread(self._guardian.close)

    async def _attempt(self, server: Server, within_connect_timeout: bool) -> None:
        limit = server.config.connect_timeout if within_connect_timeout else server.start_seconds
        # A little longer than the server's own limit, so that its reason is known.
        await happens(server.attempted, limit + 1)

    async def _resolve(self, name: str) -> tuple[Tool, Server]:
        """Find a tool by its public name, waiting only for the server that owns the name."""
        for attempt in (1, 2):
            tool = self._toolbox.tools.get(name)
            if tool is not None:
                server = self._servers[tool.server]
                if server.offers_tools:
                    return tool, server
                raise server.unavailable()
            owner = self._owner(name)
            if owner is None or owner.state == "ready" or attempt == 2:
                break
            await self._attempt(owner, within_connect_timeout=False)
        if owner is not None and owner.state != "ready":
            raise owner.unavailable()
        if owner is not None:
            owner.refresh_soon()  # it may have gone, or come, since the list was read
        near = tuple(difflib.get_close_matches(name, self._toolbox.tools, NEAR_NAMES, cutoff=0.5))
        hint = f"; near: {', '.join(near)}" if near else ""
        where = f" on MCP server '{owner.config.name}'" if owner else ""
        what = f"tool '{name}' is no longer available" if name in self._toolbox.former else f"there is no tool '{name}'"
        note = f" ({owner.note})" if owner and owner.note else ""
        raise ToolNotFound(what + where + note + hint, server=owner.config.name if owner else None, near=near)

    def _owner(self, name: str) -> Server | None:
        """Return the server whose prefix a name begins with, the longest such prefix."""
        owners = [one for one in self._servers.values() if name.startswith(server_prefix(one.config.name))]
        # Of servers that look alike, the one that is down is meant: the tools of the other are in the table.
        return max(owners, key=lambda one: (len(one.config.name), one.state != "ready"), default=None)

    async def _run(
        self, tool: Tool, server: Server, arguments: Mapping[str, Any] | str | None, chat: str | None
    ) -> ToolResult:
        limit = server.config.max_result_chars
        try:
            repaired = tool.arguments_for_server(parse_arguments(arguments))
        except ArgumentsError as error:
            return error_result(str(error), max_chars=limit)
        try:
            raw = await self._send(tool, server, repaired, chat)
        except RpcError as error:
            return error_result(f"{error.message} (code {error.code})", max_chars=limit)
        except (ServerUnavailable, CallTimeout) as error:
            text = f"tool '{tool.remote_name}' of MCP server '{tool.server}': {error.message}"
            kind = CallTimeout if isinstance(error, CallTimeout) else ServerUnavailable
            raise kind(text, server=tool.server) from None
        return convert(raw, max_chars=limit, mask_errors=self._redact)

    async def _send(self, tool: Tool, server: Server, arguments: dict[str, Any], chat: str | None) -> dict[str, Any]:
        config = server.config
        deadline = Deadline(config.call_timeout, config.max_call_time or config.call_timeout * MAX_CALL_FACTOR)
        for attempt in (1, 2):
            async with self._lease(server, chat) as connection:
                try:
                    return await connection.call_tool(tool.remote_name, arguments, deadline)
                except NotSent:  # a spare that had died: nothing has happened yet
                    if attempt == 2:
                        raise
                except SessionExpired:  # nor here: the server was restarted
                    if attempt == 2:
                        raise
                    server.sessions.renew()
                    server.refresh_soon()
        raise AssertionError("unreachable")

    @asynccontextmanager
    async def _lease(self, server: Server, chat: str | None) -> AsyncIterator[Connection]:
        """Lend a session; a server that gives none is looked at in the background."""
        leased = False
        try:
            async with server.sessions.lease(chat, server.config.connect_timeout) as connection:
                leased = True
                yield connection
        except ServerUnavailable:
            if not leased:
                server.suspect()
            raise

    def _rebuild(self) -> None:
        """Name and present all tools anew; tell `on_change` if the model would see a difference."""
        before = [(t.name, t.description, t.input_schema) for t in self.tools()]
        self._toolbox.fill(self._servers.values())
        after = [(t.name, t.description, t.input_schema) for t in self.tools()]
        if before != after and self._tasks and self._on_change is not None:
            self._on_change()
