"""Servers in tables where other programs look for them: here nobody would, and say nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def misplaced_servers(tables: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line that says where it belongs for each server in another table than `[mcp.servers.<name>]`.

    Others write `[mcpServers.a]`, `[mcp_servers.a]`, `[servers.a]`, or `[a]`.
    """
    for key, value in tables.items():
        if _is_server(value):
            yield f"{key}: not read; write [mcp.servers.{key}]"
        elif isinstance(value, Mapping):
            inner = value.get("servers")
            held = inner if isinstance(inner, Mapping) else value
            for name in (name for name, one in held.items() if _is_server(one)):
                yield f"{key}.{name}: not read; write [mcp.servers.{name}]"


def _is_server(value: object) -> bool:
    return isinstance(value, Mapping) and any(isinstance(value.get(key), (str, list)) for key in ("command", "url"))
