"""A tool call inside the bridge, and the interface of the stages around it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Protocol

from ..config.rules import Caller as Caller
from ..config.server_config import ServerConfig
from ..tools.result import ToolResult
from ..tools.tool import Tool


@dataclass(frozen=True)
class Call:
    """A tool call, with the configuration of its server and the caller."""

    tool: Tool
    config: ServerConfig
    arguments: Mapping[str, Any] | str | None
    """As the caller gave them, a mapping or JSON text; a dict under the server's own names after `repair_call`."""
    caller: Caller = field(default_factory=Caller)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """HTTP headers for this one request, in addition to those of the configuration; ignored by a stdio server."""

    @property
    def chat(self) -> str | None:
        """The chat in which the tool is called, None if there is none."""
        return self.caller.chat

    @property
    def user(self) -> str | None:
        """The user for whom the tool is called, None if there is none."""
        return self.caller.user


class ToolCaller(Protocol):
    """Calls tools by their public names, as `Bridge` and `BridgeThread` do."""

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        chat: str | None = None,
        user: str | None = None,
    ) -> ToolResult: ...


Proceed = Callable[[Call], Awaitable[ToolResult]]
"""Make the call: returns the tool's result or raises a `BridgeError`."""


class Middleware(Protocol):
    """One stage around every call; an `async def stage(call, proceed)` is one.

    The bridge awaits it on its loop, once for each call that `chats`, `users` and `rate` allow and whose arguments
    can be read.
    Calls run concurrently, so it must not keep state of one call outside its own frame.

    `call.arguments` is a dict: already repaired, under the server's own parameter names. A stage may

    - await `proceed(call)`, at most once, because a tool may have effects that must not be repeated;
    - pass on `dataclasses.replace(call, ...)` with other `arguments` or `headers`. The other fields must stay,
      since the owner's rules were checked for them;
    - change the result, return one of its own without proceeding, or raise a `BridgeError`.

    It must let `asyncio.CancelledError` through: the caller has gone, and the request is cancelled at the server.
    The owner's consent (`confirm`) is asked for last, with the arguments as they were passed on.
    """

    def __call__(self, call: Call, proceed: Proceed, /) -> Awaitable[ToolResult]: ...


def compose(stages: Sequence[Middleware], core: Proceed) -> Proceed:
    """Return `core` with the stages around it, the first of them outermost."""
    return reduce(_wrapped, reversed(stages), core)


def _wrapped(inner: Proceed, stage: Middleware) -> Proceed:
    return lambda call: stage(call, inner)
