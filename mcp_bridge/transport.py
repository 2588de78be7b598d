"""A server's configuration -> an open channel to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from .errors import ServerUnavailable
from .process.environment import plan_launch
from .process.guardian import Guardian
from .redaction import Redactor
from .server_config import ServerConfig
from .stdio import open_stdio
from .wire.channel import Channel


@dataclass(frozen=True)
class Surroundings:
    """What all sessions of one bridge share. `max_message_bytes` is the longest message taken."""

    guardian: Guardian
    redact: Redactor
    max_message_bytes: int


@asynccontextmanager
async def open_channel(config: ServerConfig, around: Surroundings) -> AsyncIterator[Channel]:
    """Open the channel that a server's entry asks for. Raises `ServerUnavailable`."""
    if config.transport != "stdio":
        raise ServerUnavailable(
            "remote servers (url) are not supported yet; use a stdio server", server=config.name, retry=False
        )
    async with open_stdio(
        config.name,
        plan_launch(config),
        limit=around.max_message_bytes,
        guardian=around.guardian,
        redact=around.redact,
    ) as channel:
        yield channel
