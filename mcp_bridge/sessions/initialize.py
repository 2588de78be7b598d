"""`initialize`, the first request of a session (specification, "Lifecycle")."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._version import __version__
from ..errors import RpcError, ServerUnavailable
from ..text.cleaning import clean_label, truncate
from ..transport.filter import MessageFilter

LATEST_PROTOCOL_VERSION = "2025-11-25"
PROTOCOL_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", LATEST_PROTOCOL_VERSION)
"""The versions that `initialize` may agree on (modelcontextprotocol.io, "Versioning")."""
ROOTS_SETTLE_SECONDS = 0.1
"""How long a server may take to look at the folders that it received."""


Ask = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Makes a request on the session and returns the raw result. Raises `RpcError` or `ConnectionError`."""


@dataclass(frozen=True)
class InitializeResult:
    """The server's answer to `initialize`."""

    protocol_version: str
    capabilities: Mapping[str, Any]
    server_info: Mapping[str, Any]

    @property
    def offers_tools(self) -> bool:
        """Whether tools may be asked for: servers that announce nothing at all often have some."""
        return not self.capabilities or "tools" in self.capabilities


def initialize_params(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of `initialize`."""
    return {
        "protocolVersion": LATEST_PROTOCOL_VERSION,
        "capabilities": dict(capabilities),
        "clientInfo": {"name": "mcp-bridge", "version": __version__},
    }


async def initialize(ask: Ask, capabilities: Mapping[str, Any]) -> InitializeResult:
    """Send `initialize`, announcing `capabilities`, and return what the server answers.

    Raises `ServerUnavailable` if no common version is found, `RpcError` if the server refuses,
    `ConnectionError` if the session ends.
    """
    params = initialize_params(capabilities)
    try:
        result = await ask("initialize", params)
    except RpcError as error:
        older = _offered(error.data, PROTOCOL_VERSIONS)
        if older is None:
            raise
        result = await ask("initialize", {**params, "protocolVersion": older})
    version = result.get("protocolVersion")
    if version not in PROTOCOL_VERSIONS:
        shown = "no protocol version" if version is None else f"protocol version {version}"
        known = ", ".join(PROTOCOL_VERSIONS)
        raise ServerUnavailable(
            f"speaks {truncate(clean_label(shown), 60)}; known here: {known}", retry=False, cause="version"
        )
    return InitializeResult(str(version), _table(result.get("capabilities")), _table(result.get("serverInfo")))


async def let_roots_arrive(ping: Callable[[], Awaitable[None]], message_filter: MessageFilter) -> None:
    """Wait until a server that asks for the roots right after `initialized` has received them.

    Until then it works with the folders it was started with, or refuses all. A server that asks at
    once has asked before it answers a `ping`. Never raises: the next request reports the end of a session.
    """
    await ping()
    if message_filter.has_sent_roots:
        await asyncio.sleep(ROOTS_SETTLE_SECONDS)
        await ping()


def _offered(data: object, known: Sequence[str]) -> str | None:
    """Return the newest version that a refusal names as supported."""
    supported = data.get("supported") if isinstance(data, Mapping) else None
    fitting = [version for version in known if isinstance(supported, list) and version in supported]
    return max(fitting, default=None)


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
