"""Modes about the handshake: versions, capabilities, probes, and what comes before it is over."""

from __future__ import annotations

from base import INVALID_PARAMS, METHOD_NOT_FOUND, VERSIONS, RpcError, Server, mode
from wire import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from base import Request
    from wire import Message


class Handshake(Server):
    """A server that changes single keys of its initialize result; `remove` names keys to leave out."""

    change: ClassVar[Message] = {}
    remove: ClassVar[tuple[str, ...]] = ()

    def initialize(self, request: Request) -> Message | None:
        result = {**(super().initialize(request) or {}), **self.change}
        return {key: value for key, value in result.items() if key not in self.remove}


@mode("version_old")
class VersionOld(Handshake):
    """Answers initialize with protocolVersion 2024-11-05 (or `version`), whatever was asked."""

    def initialize(self, request: Request) -> Message:
        answer = super().initialize(request) or {}
        return {**answer, "protocolVersion": self.options.get("version", VERSIONS[0])}


@mode("version_future")
class VersionFuture(Handshake):
    """Answers initialize with protocolVersion 2099-01-01, whatever was asked."""

    change: ClassVar[Message] = {"protocolVersion": "2099-01-01"}


@mode("version_missing")
class VersionMissing(Handshake):
    """Answers initialize without protocolVersion."""

    remove = ("protocolVersion",)


@mode("version_number")
class VersionNumber(Handshake):
    """Answers initialize with protocolVersion 1 (a number, as early home-made servers did)."""

    change: ClassVar[Message] = {"protocolVersion": 1}


@mode("version_strict")
class VersionStrict(Server):
    """Accepts only protocolVersion `version` (2024-11-05) and answers any other with an error naming it."""

    def initialize(self, request: Request) -> Message | None:
        only = self.options.get("version", VERSIONS[0])
        if request.params.get("protocolVersion") != only:
            raise RpcError(INVALID_PARAMS, "Unsupported protocol version", {"supported": [only]})
        return super().initialize(request)


@mode("init_refused")
class InitRefused(Server):
    """Answers initialize with error -32601, as a server that only speaks a later protocol would."""

    def initialize(self, request: Request) -> Message:
        raise RpcError(METHOD_NOT_FOUND, "Method not found: initialize")


@mode("init_null")
class InitNull(Server):
    """Answers initialize with result null."""

    def initialize(self, request: Request) -> None:
        self.respond(request, result=None)


@mode("no_server_info")
class NoServerInfo(Handshake):
    """Answers initialize without serverInfo."""

    remove = ("serverInfo",)


@mode("no_server_version")
class NoServerVersion(Handshake):
    """Answers initialize with a serverInfo that has a name but no version."""

    change: ClassVar[Message] = {"serverInfo": {"name": "odd"}}


@mode("extra_init_keys")
class ExtraInitKeys(Handshake):
    """Answers initialize with unknown keys, null instructions and experimental capabilities."""

    change: ClassVar[Message] = {
        "instructions": None,
        "serverInfo": {"name": "odd", "version": 1, "icons": None, "x": {}},
        "capabilities": {"tools": {}, "experimental": None, "tasks": {"list": {}}, "x-own": True},
        "x": [1],
    }


@mode("capabilities_null")
class CapabilitiesNull(Handshake):
    """Answers initialize with capabilities null; the tools are there."""

    change: ClassVar[Message] = {"capabilities": None}


@mode("capabilities_empty")
class CapabilitiesEmpty(Handshake):
    """Announces no capability at all, but answers tools/list and tools/call (many small servers)."""

    change: ClassVar[Message] = {"capabilities": {}}


@mode("capabilities_true")
class CapabilitiesTrue(Handshake):
    """Announces `tools: true` instead of an object."""

    change: ClassVar[Message] = {"capabilities": {"tools": True}}


@mode("no_tools_capability")
class NoToolsCapability(Server):
    """Announces resources only; tools/list and tools/call answer -32601."""

    capabilities: ClassVar[Message] = {"resources": {}}

    def list_page(self, cursor: Any) -> Message:
        raise RpcError(METHOD_NOT_FOUND, "Method not found: tools/list")

    def call(self, request: Request, name: str, arguments: Any) -> Message:
        raise RpcError(METHOD_NOT_FOUND, "Method not found: tools/call")


@mode("no_tools_unannounced")
class NoToolsUnannounced(NoToolsCapability):
    """Announces nothing at all, and tools/list answers -32601: only asking shows that there are no tools."""

    capabilities: ClassVar[Message] = {}


@mode("strict_handshake")
class StrictHandshake(Server):
    """Exits with status 6 when the first message is not initialize; refuses tools/* before initialized."""

    first = True
    ready = False

    def receive(self, message: Any) -> None:
        method = message.get("method") if isinstance(message, dict) else None
        if self.first and method != "initialize":
            self.log("recv", message=message)
            complain(f"fatal: expected initialize, got {method}")
            self.log.leave(6)
        self.first = False
        super().receive(message)

    def initialized(self) -> None:
        self.ready = True

    def dispatch(self, request: Request) -> Message | None:
        if request.method.startswith("tools/") and not self.ready:
            raise RpcError(INVALID_PARAMS, "Received request before initialization was complete")
        return super().dispatch(request)


@mode("strict_fields")
class StrictFields(Server):
    """Refuses requests with parameters that the first specification does not know, and nulls."""

    allowed: ClassVar[dict[str, set[str]]] = {
        "initialize": {"protocolVersion", "capabilities", "clientInfo"},
        "tools/list": {"cursor"},
        "tools/call": {"name", "arguments", "_meta"},
    }

    def dispatch(self, request: Request) -> Message | None:
        unknown = set(request.params) - self.allowed.get(request.method, set(request.params))
        empty = [key for key, value in request.params.items() if value is None]
        if unknown or empty:
            raise RpcError(INVALID_PARAMS, f"Unexpected parameters: {sorted(unknown) + empty}")
        return super().dispatch(request)


@mode("discover_silent")
class DiscoverSilent(Server):
    """Ignores server/discover (the 2026-07-28 probe) completely, answers initialize normally."""

    def other(self, request: Request) -> Message | None:
        if request.method == "server/discover":
            return None
        return super().other(request)


@mode("ping_silent")
class PingSilent(Server):
    """Ignores `ping`, as servers do that know nothing but tools."""

    def dispatch(self, request: Request) -> Message | None:
        return None if request.method == "ping" else super().dispatch(request)


@mode("discover_exit")
class DiscoverExit(Server):
    """Exits with status 6 at server/discover, answers initialize normally in a fresh process."""

    def other(self, request: Request) -> Message | None:
        if request.method == "server/discover":
            self.log.leave(6)
        return super().other(request)


@mode("discover_answered")
class DiscoverAnswered(Server):
    """Answers server/discover with 2026-07-28 and refuses initialize: the stateless protocol only."""

    def initialize(self, request: Request) -> Message:
        raise RpcError(METHOD_NOT_FOUND, "Method not found: initialize")

    def other(self, request: Request) -> Message | None:
        if request.method != "server/discover":
            return super().other(request)
        return {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "odd-stateless", "version": "1.0"},
        }


@mode("early_messages")
class EarlyMessages(Server):
    """Sends a log notification and a ping before it has read anything, and more before initialize."""

    stdio_only = True

    def started(self) -> None:
        self.notify("notifications/message", {"level": "info", "data": "starting"})
        self.ask("ping")

    def initialize(self, request: Request) -> Message | None:
        self.notify("notifications/tools/list_changed")
        return super().initialize(request)


@mode("ping_refused")
class PingRefused(Server):
    """Answers the client's ping with -32601."""

    def dispatch(self, request: Request) -> Message | None:
        if request.method == "ping":
            raise RpcError(METHOD_NOT_FOUND, "Method not found: ping")
        return super().dispatch(request)
