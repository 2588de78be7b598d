"""The handshake that begins a session (specification, "Lifecycle"): `initialize`, then `initialized`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .cleaning import clean_label, truncate
from .errors import RpcError, ServerUnavailable

if TYPE_CHECKING:
    from mcp import ClientSession


@dataclass(frozen=True)
class Agreement:
    """What client and server have told each other."""

    protocol_version: str
    capabilities: Mapping[str, Any]
    server_info: Mapping[str, Any]

    @property
    def offers_tools(self) -> bool:
        """Whether tools may be asked for: servers that announce nothing at all often have some."""
        return not self.capabilities or "tools" in self.capabilities


async def shake_hands(session: ClientSession, capabilities: Mapping[str, Any]) -> Agreement:
    """Do the handshake, announcing `capabilities`.

    Raises `ServerUnavailable` if no common version is found, `RpcError` if the server refuses,
    `ConnectionError` if the session ends.
    """
    from . import _sdk

    params = {
        "protocolVersion": _sdk.LATEST_PROTOCOL_VERSION,
        "capabilities": dict(capabilities),
        "clientInfo": _sdk.CLIENT_INFO,
    }
    try:
        result = await _sdk.request(session, "initialize", params)
    except RpcError as error:
        older = _offered(error.data, _sdk.PROTOCOL_VERSIONS)
        if older is None:
            raise
        result = await _sdk.request(session, "initialize", {**params, "protocolVersion": older})
    version = result.get("protocolVersion")
    if version not in _sdk.PROTOCOL_VERSIONS:
        shown = "no protocol version" if version is None else f"protocol version {version}"
        known = ", ".join(_sdk.PROTOCOL_VERSIONS)
        raise ServerUnavailable(
            f"speaks {truncate(clean_label(shown), 60)}; known here: {known}", retry=False, cause="version"
        )
    _sdk.adopt(session, str(version))
    await _sdk.notify(session, "notifications/initialized")
    return Agreement(str(version), _table(result.get("capabilities")), _table(result.get("serverInfo")))


def _offered(data: object, known: Sequence[str]) -> str | None:
    """Return the newest version that a refusal names as supported."""
    supported = data.get("supported") if isinstance(data, Mapping) else None
    fitting = [version for version in known if isinstance(supported, list) and version in supported]
    return max(fitting, default=None)


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
