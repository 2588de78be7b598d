"""The parameters of a program's one server, and the configuration made from them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..config.bridge_config import BridgeConfig, parse_config
from ..errors import ConfigError
from ..tools.tool import MAX_TOOLS

KEPT_SESSION: Mapping[str, Any] = {"session": "shared", "idle_timeout": 10 * 365 * 86_400.0}
"""Keys of a server whose one session lasts until the program closes it: no idle time ends it."""


@dataclass(frozen=True)
class LocalServerParams:
    """How to start a server. `${VAR}` and a leading `~` are expanded as in config.toml."""

    command: str | os.PathLike[str]
    args: Sequence[str | os.PathLike[str]] = ()
    env: Mapping[str, str] | None = field(default=None, repr=False)
    cwd: str | os.PathLike[str] | None = None


@dataclass(frozen=True)
class RemoteServerParams:
    """How to reach a server. Without `transport` streamable HTTP is tried, then SSE."""

    url: str = field(repr=False)
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    bearer_token: str | None = field(default=None, repr=False)
    transport: str | None = None


def local_entry(params: LocalServerParams) -> dict[str, Any]:
    """Return the configuration entry of a local server, unchecked."""
    args = params.args if isinstance(params.args, str) else [_text(word) for word in params.args]
    return {"command": _text(params.command), "args": args, "env": params.env, "cwd": _text(params.cwd)}


def remote_entry(params: RemoteServerParams) -> dict[str, Any]:
    """Return the configuration entry of a remote server, unchecked; an empty token counts as none."""
    return {
        "url": params.url,
        "headers": params.headers,
        "bearer": params.bearer_token or None,
        "transport": params.transport,
    }


def config_of_one(name: str, entry: Mapping[str, Any]) -> BridgeConfig:
    """Return a configuration with this one server, which offers all its tools.

    The entry may hold `${VAR}` as in a file, and None for a key that is not set. A mistake in it fails the
    server's start.
    """
    return parse_config({"mcp": {"max_tools": MAX_TOOLS, "servers": {name: entry}}})


def checked_config_of_one(name: str, entry: Mapping[str, Any]) -> BridgeConfig:
    """Return the same. Raises `ConfigError` for an entry that cannot be used, and `TypeError` for an unknown key."""
    config = config_of_one(name, entry)
    for server in config.servers:
        if server.warnings:
            raise TypeError(f"MCP server '{name}': {'; '.join(server.warnings)}")
        if server.error:
            raise ConfigError(f"MCP server '{name}': {server.error}")
    return config


def _text(value: object) -> object:
    return os.fspath(value) if isinstance(value, os.PathLike) else value
