"""The requests on one session: those that somebody waits for, and those that were left to end by themselves."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import RpcError
from ..transport.filter import alias

if TYPE_CHECKING:
    from mcp import ClientSession


Answer = asyncio.Future[dict[str, Any]]
"""Gives the raw result, or raises `RpcError`, or `ConnectionError` when the session has ended."""


@dataclass(frozen=True, eq=False)
class ToolCall:
    """What a `tools/call` asks for. No two are the same one, whatever they ask for."""

    name: str
    arguments: Mapping[str, Any]

    def params(self, token: object) -> dict[str, Any]:
        """Return the parameters of the request; progress will be told under `token`."""
        return {"name": self.name, "arguments": dict(self.arguments), "_meta": {"progressToken": token}}


@dataclass(frozen=True, eq=False)
class Request:
    """A request that has begun, under a number of its own."""

    number: int
    answer: Answer


class InFlight:
    """Begins requests, and sees to it that each comes to its end, with the session at the latest.

    An answer is handed on as soon as it is there: the SDK's session, which is still to take it in, need
    not be waited for.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._waited_for: dict[int, Answer] = {}
        self._running: dict[asyncio.Task[None], Answer] = {}

    def __len__(self) -> int:
        """How many requests somebody waits for."""
        return len(self._waited_for)

    def begin(self, session: ClientSession, method: str, params: dict[str, Any]) -> Request:
        """Begin a request; whoever begins it must `leave` it."""
        request = Request(next(self._numbers), asyncio.get_running_loop().create_future())
        self._waited_for[request.number] = request.answer
        task = asyncio.create_task(_run(session, method, params, request), name=f"mcp {method}")
        self._running[task] = request.answer
        task.add_done_callback(self._running.pop)
        return request

    def take(self, number: int, message: Mapping[str, Any]) -> None:
        """Take in the answer to a request, in the form that the session is about to get."""
        answer = self._waited_for.get(number)
        if answer is None or answer.done():
            return
        error = message.get("error")
        if error is None:
            answer.set_result(message["result"])
        else:
            answer.set_exception(RpcError(error["message"], code=error["code"], data=error.get("data")))

    def leave(self, request: Request) -> None:
        """Wait for a request no longer.

        To cancel it just when its answer comes would end the session of the SDK 1.x, and all other requests
        with it: the SDK then fails to hand the answer to somebody who has gone, and stops reading.
        """
        self._waited_for.pop(request.number, None)
        if not request.answer.cancel() and not request.answer.cancelled():
            request.answer.exception()  # seen: whatever it was, nobody waits for it

    async def settle(self, seconds: float, *, answered: bool) -> None:
        """Give requests some time to end, only those that are `answered` or all that are waited for."""
        waiting = [task for task, answer in self._running.items() if answer.done() or not answered]
        if waiting:
            await asyncio.wait(waiting, timeout=seconds)

    def cancel(self) -> None:
        """End all requests: the session is over."""
        for answer in self._waited_for.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the session has ended"))
        for task in self._running:
            task.cancel()

    async def close(self) -> None:
        """End all requests and wait for that."""
        self.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


async def _run(session: ClientSession, method: str, params: dict[str, Any], request: Request) -> None:
    """Have a request made by the session, whose word counts where the answer was not taken before."""
    from .. import _sdk

    answer = request.answer
    try:
        result = await _sdk.request(session, alias(method, request.number), params)
    except Exception as error:
        if not answer.done():
            answer.set_exception(error)
    else:
        if not answer.done():
            answer.set_result(result)
