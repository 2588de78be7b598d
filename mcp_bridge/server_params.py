"""How a program names a server to a toolset, and the configuration entry that this makes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class LocalServerParams:
    """How to start a server. `${VAR}` and a leading `~` are expanded as in config.toml."""

    command: str | os.PathLike[str]
    args: Sequence[str | os.PathLike[str]] = ()
    env: Mapping[str, str] | None = field(default=None, repr=False)
    cwd: str | os.PathLike[str] | None = None


@dataclass(frozen=True)
class RemoteServerParams:
    """Where a server is. Without `transport` streamable HTTP is tried, then SSE."""

    url: str = field(repr=False)
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    bearer_token: str | None = field(default=None, repr=False)
    transport: str | None = None


def local_entry(params: LocalServerParams) -> dict[str, Any]:
    """Return the entry of a server to start; what is wrong in it is found when that is checked."""
    args = params.args if isinstance(params.args, str) else [_text(word) for word in params.args]
    return {"command": _text(params.command), "args": args, "env": params.env, "cwd": _text(params.cwd)}


def remote_entry(params: RemoteServerParams) -> dict[str, Any]:
    """Return the entry of a remote server; an empty token is none."""
    return {
        "url": params.url,
        "headers": params.headers,
        "bearer": params.bearer_token or None,
        "transport": params.transport,
    }


def _text(value: object) -> object:
    return os.fspath(value) if isinstance(value, os.PathLike) else value
