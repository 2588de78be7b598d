"""The routes to a server: from its configuration to an open channel."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from .._sdk_loader import load_module
from ..config.server_config import ServerConfig
from ..errors import ServerUnavailable
from ..text.redaction import Redactor
from .channel import Channel
from .stdio.channel import open_stdio
from .stdio.guardian import Guardian
from .stdio.launch import Launch, is_there, plan_launch


@dataclass(frozen=True)
class SharedResources:
    """Resources that all sessions of one bridge share. `max_message_bytes` is the longest message accepted.

    `first_starts` holds a lock for each launcher: it may download one server at a time.
    """

    guardian: Guardian
    redact: Redactor
    max_message_bytes: int
    first_starts: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))


ChannelOpener = Callable[[], AbstractAsyncContextManager[Channel]]


class Route:
    """The transports to try for a server, in order; remembers the one that worked."""

    def __init__(self, config: ServerConfig, shared: SharedResources) -> None:
        ways: dict[str, ChannelOpener] = {
            "stdio": lambda: _stdio(config, self._launch(config), shared),
            "http": lambda: _http(config, shared),
            "sse": lambda: _sse(config, shared),
        }
        names = ("http", "sse") if config.transport == "auto" else (config.transport,)
        self._all = [ways[name] for name in names]
        self._found: ChannelOpener | None = None
        self._planned: Launch | None = None

    def openers(self) -> list[ChannelOpener]:
        """Return the transports to try: the one that worked last, else all."""
        return [self._found] if self._found else self._all

    def settle(self, opener: ChannelOpener) -> None:
        self._found = opener

    def unsettle(self) -> None:
        """Try all transports again: the server may have changed."""
        self._found = None
        self._planned = None

    def _launch(self, config: ServerConfig) -> Launch:
        """Return how to start the server: as the last time, if that is still possible."""
        if self._planned is None or not is_there(self._planned):
            self._planned = plan_launch(config)
        return self._planned


def leads_elsewhere(error: ServerUnavailable) -> bool:
    """Return whether a failed `initialize` means that the server uses another transport.

    (Specification 2025-03-26, "Backwards Compatibility": 404 or 405 to the first POST.)
    """
    return error.status in (404, 405)


@asynccontextmanager
async def _http(config: ServerConfig, shared: SharedResources) -> AsyncIterator[Channel]:
    remote = await load_module("transport.http.channel")
    async with remote.open_http(config, shared.max_message_bytes, shared.redact) as channel:
        yield channel


@asynccontextmanager
async def _sse(config: ServerConfig, shared: SharedResources) -> AsyncIterator[Channel]:
    remote = await load_module("transport.http.channel")
    async with remote.open_sse(config, shared.max_message_bytes, shared.redact) as channel:
        yield channel


@asynccontextmanager
async def _stdio(config: ServerConfig, launch: Launch, shared: SharedResources) -> AsyncIterator[Channel]:
    async with open_stdio(
        config.name,
        launch,
        limit=shared.max_message_bytes,
        guardian=shared.guardian,
        redact=shared.redact,
    ) as channel:
        yield channel
