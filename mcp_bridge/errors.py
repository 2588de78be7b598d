"""What can go wrong, as a tree.

::

    BridgeError                 base of all; `.server` names the server where there is one
    ├── ConfigError             an unreadable configuration file
    ├── ToolNotFound            no tool of that name; `.near` holds similar ones
    ├── PermissionDenied        the owner's rules refuse this caller
    │   └── RateLimited         not so soon again
    ├── ServerUnavailable       the server cannot be reached, started or understood
    ├── CallTimeout             the server did not answer in time
    ├── McpSessionNotEstablishedError   a toolset is used that is not connected; also a `RuntimeError`
    ├── RpcError                the server answered a request with a JSON-RPC error
    └── ToolExecutionError      a tool reported a failure, for hosts that want it raised

Inside the core a tool's own failure is data (`ToolResult.is_error`) and a broken
server is an exception. `Bridge.call` never lets `RpcError` out: an error answered
to `tools/call` is the tool's own. Only the functions of `registry.ToolDef` raise
`ToolExecutionError`.
"""

from __future__ import annotations

from typing import Literal

Cause = Literal[
    "folder",  # the working directory does not exist
    "program",  # the program was not found
    "argument",  # an argument cannot be handed to the program safely
    "start",  # the system refuses to start the program
    "exit",  # the process ended
    "timeout",  # no answer within the owner's limit
    "version",  # no common version of the protocol
    "initialize",  # the handshake was answered with an error
    "status",  # an HTTP status, which is in `status`
    "connection",  # no connection, or one that broke
    "refused",  # nobody listens at that address
    "host",  # the host name cannot be found
    "proxy",  # the proxy in between
    "certificate",  # the server's certificate is not trusted
    "tls",  # no TLS at that address
    "ca_file",  # the configured authority cannot be read
    "redirect",  # another place
    "content",  # something else than MCP
]
"""What made a server unavailable, for those who give advice: texts are for people."""


class BridgeError(Exception):
    """Base of every error of this library. The text is never empty and fit to be shown."""

    def __init__(self, message: str, *, server: str | None = None) -> None:
        super().__init__(message or type(self).__name__)
        self.server = server

    @property
    def message(self) -> str:
        return str(self.args[0])


class ConfigError(BridgeError):
    """The configuration as a whole cannot be read; `line` and `column` count from 1."""

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        place = file or ""
        if line is not None:
            place += f":{line}" if column is None else f":{line}:{column}"
        super().__init__(f"{place}: {message}" if place else message)
        self.file, self.line, self.column = file, line, column


class ToolNotFound(BridgeError):
    """No tool has that name now."""

    def __init__(self, message: str, *, server: str | None = None, near: tuple[str, ...] = ()) -> None:
        super().__init__(message, server=server)
        self.near = near


class PermissionDenied(BridgeError):
    """The owner's configuration does not let this chat or user call that tool."""


class RateLimited(PermissionDenied):
    """The owner's configuration does not let that chat or user call so often."""


class ServerUnavailable(BridgeError):
    """The server is not there: not started, not reachable, died, or not understood.

    `retry` is false where another attempt cannot help until somebody changes something
    (wrong configuration, 401/403, an unknown protocol version). `missing` marks a program
    that was not found, which is tried again slowly: owners install it while the bot runs.
    `status` is the HTTP status that was the cause, if one was; `cause` tells the kinds apart
    where the core knows more than the text.
    """

    def __init__(
        self,
        message: str,
        *,
        server: str | None = None,
        retry: bool = True,
        missing: bool = False,
        status: int | None = None,
        cause: Cause | None = None,
    ) -> None:
        super().__init__(message, server=server)
        self.retry = retry
        self.missing = missing
        self.status = status
        self.cause = cause


class NotSent(ServerUnavailable):
    """The session ended before anything of the call was sent: it is safe to call again."""


class SessionExpired(ServerUnavailable):
    """The server has forgotten the session and did not look at the call (HTTP 404)."""


class SessionRefused(ServerUnavailable):
    """The server may have forgotten the session, but says so in a way of its own: no call is repeated for that."""


class CallTimeout(BridgeError):
    """The server kept a call waiting longer than the owner allows."""


class McpSessionNotEstablishedError(BridgeError, RuntimeError):
    """A toolset is used before `connect`, after `disconnect`, or after its connection was lost."""


class RpcError(BridgeError):
    """The server answered a request with a JSON-RPC error object."""

    def __init__(self, message: str, *, code: int, server: str | None = None, data: object = None) -> None:
        super().__init__(message, server=server)
        self.code = code
        self.data = data


class ToolExecutionError(BridgeError):
    """A tool ran and reported that it failed; the text is what the model may be shown."""
