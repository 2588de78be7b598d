"""All errors of this library, as a tree.

::

    BridgeError                 base class; `.server` names the server, if the error concerns one
    ├── ConfigError             a configuration file cannot be read
    ├── ToolNotFound            no tool has that name; `.near` holds similar names
    ├── PermissionDenied        the owner's rules do not allow the call
    │   └── RateLimited         the caller has used up its `rate`
    ├── ServerUnavailable       the server cannot be started, reached or understood
    │   ├── NotSent             the session ended before the call was sent
    │   ├── SessionExpired      the server has forgotten the session (HTTP 404)
    │   ├── SessionRefused      the server has probably forgotten the session, but does not answer 404
    │   └── AllBusy             (sessions/pool.py) all `max_sessions` sessions are in use
    ├── CallTimeout             no answer within the limits of the call
    ├── McpSessionNotEstablishedError   a toolset is used while it is not connected; also a `RuntimeError`
    ├── RpcError                the server answered a request with a JSON-RPC error
    ├── ToolExecutionError      a tool reported that it failed; for hosts that want an exception
    └── UsageError              (cli/options.py) the command line is wrong

Inside the core, a failure that a tool reports is a result (`ToolResult.is_error`), and a broken server is an
exception. `Bridge.call` never raises `RpcError`: a JSON-RPC error answered to `tools/call` is the tool's own
failure. Only the functions of `ToolDef` (facades/registry.py) raise `ToolExecutionError`.

A few exceptions never leave the room that raises them, and are no `BridgeError`: `EntryError` and
`MissingVariable` (config/), `ArgumentsError`, `OutOfSteps`, `UnusableSchema` and `TooLarge` (tools/).
"""

from __future__ import annotations

from typing import Literal

Cause = Literal[
    "folder",  # the working directory does not exist
    "program",  # the program was not found
    "argument",  # an argument cannot be passed to the program safely
    "start",  # the system cannot start the program
    "exit",  # the process ended
    "timeout",  # no answer within the owner's limit
    "version",  # no protocol version in common
    "initialize",  # the server answered initialize with an error
    "status",  # the HTTP status in `status`
    "connection",  # the connection failed or broke
    "refused",  # the connection was refused
    "host",  # the host name cannot be resolved
    "proxy",  # the proxy refused or failed
    "certificate",  # the server's certificate is not trusted
    "tls",  # the server does not speak TLS
    "ca_file",  # the configured CA file cannot be read
    "redirect",  # the server redirects to another origin
    "content",  # the answer is not MCP
]
"""Why a server is unavailable, for code that gives advice; the text of the error is for people."""


class BridgeError(Exception):
    """Base of every error of this library. The message is never empty and may be shown to users."""

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
    """No tool has that name at the moment."""

    def __init__(self, message: str, *, server: str | None = None, near: tuple[str, ...] = ()) -> None:
        super().__init__(message, server=server)
        self.near = near


class PermissionDenied(BridgeError):
    """The owner's configuration does not allow this chat or user to call the tool."""


class RateLimited(PermissionDenied):
    """The owner's `rate` does not allow this chat or user another call yet."""


class ServerUnavailable(BridgeError):
    """The server did not start, cannot be reached, has died, or sends what is not MCP.

    `retry` is false if another attempt is pointless until the owner changes something (wrong
    configuration, 401/403, an unknown protocol version). `missing` marks a program that was not
    found; it is retried slowly, because owners install programs while the bot runs. `status` is
    the HTTP status that caused the error, `cause` the kind of error, where they are known.
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
    """The session ended before the call was sent, so that it is safe to call again."""


class SessionExpired(ServerUnavailable):
    """The server has forgotten the session and has not run the call (HTTP 404)."""


class SessionRefused(ServerUnavailable):
    """The server has probably forgotten the session, but does not answer 404 as the protocol asks.

    No call is repeated, because it may have run.
    """


class CallTimeout(BridgeError):
    """The server did not answer within the limits of the call."""


class McpSessionNotEstablishedError(BridgeError, RuntimeError):
    """A toolset is used before `connect`, after `disconnect`, or after it lost its connection."""


class RpcError(BridgeError):
    """The server answered a request with a JSON-RPC error object."""

    def __init__(self, message: str, *, code: int, server: str | None = None, data: object = None) -> None:
        super().__init__(message, server=server)
        self.code = code
        self.data = data


class ToolExecutionError(BridgeError):
    """A tool ran and reported that it failed; the message may be shown to the model."""
