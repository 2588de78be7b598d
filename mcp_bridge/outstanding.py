"""The requests on one session: those that somebody waits for, and those that were left to end by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp import ClientSession

Request = asyncio.Task[dict[str, Any]]
"""Gives the raw result, or raises `RpcError`, or `ConnectionError` when the session has ended."""


@dataclass(frozen=True, eq=False)
class ToolCall:
    """What a `tools/call` asks for. No two are the same one, whatever they ask for."""

    name: str
    arguments: Mapping[str, Any]

    def params(self, token: object) -> dict[str, Any]:
        """Return the parameters of the request; progress will be told under `token`."""
        return {"name": self.name, "arguments": dict(self.arguments), "_meta": {"progressToken": token}}


class Outstanding:
    """Begins requests, and sees to it that each comes to its end, with the session at the latest."""

    def __init__(self) -> None:
        self._waited_for: set[Request] = set()
        self._left: set[Request] = set()

    def __len__(self) -> int:
        """How many requests somebody waits for."""
        return len(self._waited_for)

    def begin(self, session: ClientSession, method: str, params: dict[str, Any]) -> Request:
        """Begin a request; whoever begins it must `leave` it."""
        from . import _sdk

        request = asyncio.create_task(_sdk.request(session, method, params), name=f"mcp {method}")
        self._waited_for.add(request)
        return request

    def leave(self, request: Request) -> None:
        """Wait for a request no longer.

        To cancel it just when its answer comes would end the session of the SDK 1.x, and all other requests
        with it: the SDK then fails to hand the answer to somebody who has gone, and stops reading.
        """
        self._waited_for.discard(request)
        self._left.add(request)
        request.add_done_callback(self._gone)

    async def settle(self, seconds: float) -> None:
        """Give those that are waited for some time to end."""
        if self._waited_for:
            await asyncio.wait(self._waited_for, timeout=seconds)

    def cancel(self) -> None:
        """End all requests: the session is over."""
        for request in (*self._waited_for, *self._left):
            request.cancel()

    async def close(self) -> None:
        """End all requests and wait for that."""
        self.cancel()
        await asyncio.gather(*self._waited_for, *self._left, return_exceptions=True)

    def _gone(self, request: Request) -> None:
        self._left.discard(request)
        if not request.cancelled():
            request.exception()  # seen: whatever it was, nobody waits for it
