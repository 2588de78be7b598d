"""A call on its way through the bridge, and what may be put around it."""

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
    """A call of a tool, on whose behalf, and what the owner has configured for its server.

    `arguments` is what the caller gave, a mapping or JSON text, until `repair_call` has made
    a dict of it under the server's own names: middleware of others sees only that.
    """

    tool: Tool
    config: ServerConfig
    arguments: Mapping[str, Any] | str | None
    caller: Caller = field(default_factory=Caller)

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
"""The rest of the way: makes the call and returns its result, or raises a `BridgeError`."""
Middleware = Callable[[Call, Proceed], Awaitable[ToolResult]]
"""One stage: looks at the call, and proceeds (with the same or another), answers itself, or raises."""


def around(stages: Sequence[Middleware], core: Proceed) -> Proceed:
    """Return `core` with the stages around it, the first of them outermost."""
    return reduce(_enclosed, reversed(stages), core)


def _enclosed(inner: Proceed, stage: Middleware) -> Proceed:
    return lambda call: stage(call, inner)
