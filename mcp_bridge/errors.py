"""What can go wrong, as a tree.

::

    BridgeError                 base of all; `.server` names the server where there is one
    ├── ConfigError             an unreadable configuration file
    ├── ToolNotFound            no tool of that name; `.near` holds similar ones
    ├── PermissionDenied        the owner's rules refuse this caller
    ├── ServerUnavailable       the server cannot be reached, started or understood
    ├── CallTimeout             the server did not answer in time
    ├── RpcError                the server answered a request with a JSON-RPC error
    └── ToolExecutionError      a tool reported a failure, for hosts that want it raised

Inside the core a tool's own failure is data (`ToolResult.is_error`) and a broken
server is an exception. `Bridge.call` never lets `RpcError` out: an error answered
to `tools/call` is the tool's own. Only the functions of `registry.ToolDef` raise
`ToolExecutionError`.
"""

from __future__ import annotations


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


class ServerUnavailable(BridgeError):
    """The server is not there: not started, not reachable, died, or not understood.

    `retry` is false where another attempt cannot help until somebody changes something
    (wrong configuration, 401/403, an unknown protocol version). `missing` marks a program
    that was not found, which is tried again slowly: owners install it while the bot runs.
    `status` is the HTTP status that was the cause, if one was.
    """

    def __init__(
        self,
        message: str,
        *,
        server: str | None = None,
        retry: bool = True,
        missing: bool = False,
        status: int | None = None,
    ) -> None:
        super().__init__(message, server=server)
        self.retry = retry
        self.missing = missing
        self.status = status


class CallTimeout(BridgeError):
    """The server kept a call waiting longer than the owner allows."""


class RpcError(BridgeError):
    """The server answered a request with a JSON-RPC error object."""

    def __init__(self, message: str, *, code: int, server: str | None = None, data: object = None) -> None:
        super().__init__(message, server=server)
        self.code = code
        self.data = data


class ToolExecutionError(BridgeError):
    """A tool ran and reported that it failed; the text is what the model may be shown."""
