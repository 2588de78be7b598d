"""All configured servers together: start, tools, call, status, refresh, close."""

from __future__ import annotations

import asyncio
import difflib
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from ..aio import run_in_thread, wait_for_event
from ..calls import Call, Caller, Middleware, compose
from ..calls.call_stats import CallStats
from ..calls.stages import Confirm, Confirmation, RateLimiter, permit, repair_call
from ..calls.trace import Trace
from ..config.bridge_config import BridgeConfig
from ..config.rules import is_admitted
from ..errors import ToolNotFound
from ..store.approvals import Change
from ..store.data_dir import default_data_dir
from ..text.redaction import Redactor
from ..tools.result import ToolResult
from ..tools.tool import Tool
from ..transport.route import SharedResources
from ..transport.stdio.guardian import Guardian
from .offered_tools import OfferedTools
from .sending import Sending
from .server import Server, State
from .server_set import ServerSet

logger = logging.getLogger(__name__)

NEAR_NAMES = 3


@dataclass(frozen=True)
class ServerStatus:
    """The state of a server. `tools`, `calls` and `failures` are counts; secrets in texts are masked.

    `median_seconds` is that of its latest calls that succeeded, None if none has.
    """

    name: str
    state: State
    reason: str
    tools: int
    calls: int
    failures: int
    last_error: str
    median_seconds: float | None = None


class Bridge:
    """Every tool of every configured server, callable by its public name.

    `data_dir` is where tools are stored for the next start, by default a per-user folder. `on_change` is called
    on the loop when the offered tools have changed. With `wait=False` entering returns at once, with the stored
    tools. With `only`, no other servers are started; the names stay those of all. `middleware` is put around every
    allowed call, the first outermost, and sees the arguments that the server gets. `confirm` asks the owner about
    calls that the key `confirm` names. Use a bridge in one event loop only.
    """

    def __init__(  # noqa: PLR0913 - public, and all but the first are optional keywords
        self,
        config: BridgeConfig,
        *,
        data_dir: str | Path | None = None,
        on_change: Callable[[], None] | None = None,
        wait: bool = True,
        only: Collection[str] | None = None,
        middleware: Sequence[Middleware] = (),
        confirm: Confirm | None = None,
    ) -> None:
        self.config = config
        self.call_stats = CallStats()
        self._only = only
        self._data_dir = Path(data_dir) if data_dir is not None else default_data_dir()
        self._on_change = on_change
        self._wait = wait
        self._guardian = Guardian()
        self._redact = Redactor(config.secrets)
        self._offered = OfferedTools(config)
        self._shown: list[object] = []
        self._running = False
        shared = SharedResources(self._guardian, self._redact, config.max_message_mib * 2**20)
        self._servers = ServerSet(shared, self._data_dir, self._rebuild, only)
        first: tuple[Middleware, ...] = (Trace(self.call_stats, self._redact), permit, RateLimiter(), repair_call)
        sending = Sending(self._servers.find, self._redact)
        self._handle = compose([*first, *middleware, Confirmation(confirm, self._still_offered)], sending)

    async def __aenter__(self) -> Bridge:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Start all servers concurrently. Their failures are not raised but shown in `status`."""
        self._servers.adopt(self.config)
        self._warn()
        self._rebuild()
        self._servers.run()
        self._running = True
        if self._wait:
            try:
                await self.attempted(within_connect_timeout=True)
            except BaseException:
                await self.close()
                raise

    def reconfigure(self, config: BridgeConfig) -> None:
        """Adopt an edited configuration; returns at once.

        Servers whose entry has not changed go on undisturbed. Others end when their running calls have ended,
        and are started again. `on_change` is called when other tools are offered. `max_message_mib` stays as
        it was.
        """
        self.config = config
        self._redact.learn(config.secrets)
        self._offered.reconfigure(config)
        self._servers.adopt(config)
        self._warn()
        self._servers.run()
        self._rebuild()

    async def attempted(self, *, within_connect_timeout: bool = False) -> None:
        """Wait until each server is ready or has failed once, or its time for that has passed."""
        await asyncio.gather(*(self._attempt(one, within_connect_timeout) for one in self._servers.servers.values()))

    async def known(self) -> None:
        """Wait until the tools of each server are known, stored or listed, or its start has failed."""
        unknown = [server for server in self._servers.servers.values() if not server.listing.tools]
        await asyncio.gather(*(server.attempted.wait() for server in unknown))

    def tools(self, chat: str | None = None, user: str | None = None) -> list[Tool]:
        """Return the tools offered to a chat and user, in the order of the configuration."""
        caller = Caller(chat, user)
        return [
            tool
            for tool in self._offered.tools.values()
            if (server := self._servers.servers[tool.server]).offers_tools and is_admitted(server.config, caller)
        ]

    def status(self) -> list[ServerStatus]:
        """Return the state of every configured server, in the order of the configuration."""
        counts: dict[str, int] = {}
        for tool in self.tools():
            counts[tool.server] = counts.get(tool.server, 0) + 1
        return [self._status(name, counts.get(name, 0)) for name in self._servers.servers]

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        chat: str | None = None,
        user: str | None = None,
    ) -> ToolResult:
        """Call a tool and return its result; a failure of the tool itself is a result, too.

        `arguments` may be JSON text, as models write it. Raises `ToolNotFound`,
        `PermissionDenied`, `ServerUnavailable` or `CallTimeout`.
        """
        tool, server = await self._resolve(name)
        return await self._handle(Call(tool, server.config, arguments, Caller(chat, user)))

    async def refresh(self) -> None:
        """List the tools of every enabled server again, and wait until that has succeeded or failed."""
        enabled = [one for one in self._servers.servers.values() if one.config.enabled and not one.config.error]
        await asyncio.gather(*(server.refresh() for server in enabled))

    async def accept(self, server: str) -> list[Change]:
        """Accept the tools of a server as they are now; return what that changes.

        Raises `ToolNotFound` if there is no such server, `BridgeError` if it cannot list them.
        """
        if server not in self._servers.servers:
            near = tuple(difflib.get_close_matches(server, self._servers.servers, NEAR_NAMES, cutoff=0.3))
            hint = f"; near: {', '.join(near)}" if near else ""
            raise ToolNotFound(f"there is no server '{server}'{hint}", near=near)
        return await self._servers.servers[server].accept()

    async def close(self) -> None:
        """End every session and server; safe to call from any task, and more than once."""
        self._running = False
        await self._servers.close()
        await run_in_thread(self._guardian.close)

    async def _attempt(self, server: Server, within_connect_timeout: bool) -> None:
        limit = server.config.connect_timeout if within_connect_timeout else server.start_limit
        # A little longer than the server's own limit, so that the reason of a failure is known.
        await wait_for_event(server.attempted, limit + 1)

    async def _resolve(self, name: str) -> tuple[Tool, Server]:
        """Find a tool by its public name, waiting only for the server that owns the name."""
        if (found := self._find(name)) is not None:
            return found
        owner = self._servers.owner(name)
        if owner is not None and not owner.is_ready:
            await self._attempt(owner, within_connect_timeout=False)
            if (found := self._find(name)) is not None:
                return found
            if not owner.is_ready:
                raise owner.unavailable()
        if owner is not None:
            owner.refresh_soon()  # the tool may have come or gone since the last listing
        raise self._not_found(name, owner)

    def _find(self, name: str) -> tuple[Tool, Server] | None:
        """Return an offered tool with its server, None if there is none. Raises `ServerUnavailable`."""
        tool = self._offered.tools.get(name)
        if tool is None:
            return None
        server = self._servers.servers[tool.server]
        if not server.offers_tools:
            raise server.unavailable()
        return tool, server

    def _still_offered(self, call: Call) -> bool:
        """Return whether the tool of a call is offered as it was when the call began, by the same configuration."""
        server = self._servers.servers.get(call.tool.server)
        if server is None or not server.offers_tools or server.config != call.config:
            return False
        return self._offered.tools.get(call.tool.name) == call.tool

    def _not_found(self, name: str, owner: Server | None) -> ToolNotFound:
        near = tuple(difflib.get_close_matches(name, self._offered.tools, NEAR_NAMES, cutoff=0.5))
        text = f"tool '{name}' is no longer available" if name in self._offered.former else f"there is no tool '{name}'"
        if owner is not None:
            text += f" on MCP server '{owner.config.name}'"
            if owner.note:
                text += f" ({owner.note})"
        if near:
            text += f"; near: {', '.join(near)}"
        return ToolNotFound(text, server=owner.config.name if owner else None, near=near)

    def _status(self, name: str, tools: int) -> ServerStatus:
        server, figures = self._servers.servers[name], self.call_stats.server(name)
        return ServerStatus(
            name=name,
            state=server.state,
            reason=server.reason,
            tools=tools,
            calls=figures.calls,
            failures=figures.failures,
            last_error=figures.last_error or server.last_error,
            median_seconds=figures.median_seconds,
        )

    def _warn(self) -> None:
        for warning in self.config.warnings:
            logger.warning("%s", warning)

    def _rebuild(self) -> None:
        """Name and present all tools again; call `on_change` if the model would see a difference."""
        self._offered.rebuild(self._servers.servers.values())
        before, self._shown = self._shown, [(t.name, t.description, t.input_schema) for t in self.tools()]
        if before != self._shown and self._running and self._on_change is not None:
            self._on_change()
