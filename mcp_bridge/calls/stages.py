"""The stages around a call: permission, rates, repair of the arguments, consent."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import replace

from ..config.rules import is_admitted, matches
from ..config.server_config import Rate
from ..errors import PermissionDenied, RateLimited
from ..tools.arguments.repair import ArgumentsError, parse_arguments
from ..tools.result import ToolResult, error_result
from .call import Call, Proceed

Confirm = Callable[[Call], Awaitable[bool]]
"""Asks the owner, and returns whether the call is allowed. Cancelled when the time is up."""


class Confirmation:
    """Middleware that asks before a call of a tool that the owner's `confirm` names.

    `Caller.is_owner_program` is not asked.
    """

    def __init__(self, confirm: Confirm | None = None) -> None:
        self._confirm = confirm

    async def __call__(self, call: Call, proceed: Proceed) -> ToolResult:
        """Raises `PermissionDenied` if nobody can be asked, nobody answers, or the answer is no."""
        tool = call.tool
        if call.caller.is_owner_program:
            return await proceed(call)
        if not matches(call.config.confirm, tool.remote_name, tool.annotations):
            return await proceed(call)
        if (refusal := await self._ask(call)) is not None:
            text = (
                f"tool '{tool.name}' of MCP server '{tool.server}' needs the owner's consent for each call; {refusal}"
            )
            raise PermissionDenied(text, server=tool.server)
        return await proceed(call)

    async def _ask(self, call: Call) -> str | None:
        """Return why the call must not be made, None if the owner allows it."""
        if self._confirm is None:
            return "it cannot be asked for here"
        question = asyncio.ensure_future(self._confirm(call))
        try:
            done, _ = await asyncio.wait({question}, timeout=call.config.confirm_timeout)
        finally:
            question.cancel()
        if not done:
            return f"there was no answer within {call.config.confirm_timeout:g} s"
        return None if question.result() else "it was refused"


async def permit(call: Call, proceed: Proceed) -> ToolResult:
    """Refuse what `chats` and `users` do not allow. Raises `PermissionDenied`."""
    if not is_admitted(call.config, call.caller):
        tool = call.tool
        text = f"tool '{tool.name}' of MCP server '{tool.server}' is not allowed in this chat"
        raise PermissionDenied(text, server=tool.server)
    return await proceed(call)


async def repair_call(call: Call, proceed: Proceed) -> ToolResult:
    """Turn what a model wrote into arguments for the server; what cannot be read is the result."""
    try:
        arguments = call.tool.arguments_for_server(parse_arguments(call.arguments))
    except ArgumentsError as error:
        return error_result(str(error), max_chars=call.config.max_result_chars)
    return await proceed(replace(call, arguments=arguments))


MAX_CALLERS = 4096
"""Chats and users that are kept count of; the one that has been quiet longest is forgotten."""


class RateLimiter:
    """Middleware that refuses a call beyond the owner's `rate`; refused calls do not count.

    `Caller.is_owner_program` is not limited.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: OrderedDict[tuple[str, str, str], deque[float]] = OrderedDict()

    async def __call__(self, call: Call, proceed: Proceed) -> ToolResult:
        """Raises `RateLimited` with the seconds to wait."""
        limits = call.config.rate
        if limits.chat is None and limits.user is None:
            return await proceed(call)
        sides = [("chat", call.chat, limits.chat), ("user", call.user, limits.user)]
        counted = [
            (self._recent(call.config.name, side, who, rate), rate, side)
            for side, who, rate in sides
            if who is not None and rate is not None
        ]
        for times, rate, side in counted:
            if len(times) >= rate.calls:
                raise _refusal(call, rate, side, times[-rate.calls] + rate.seconds - self._clock())
        for times, _, _ in counted:
            times.append(self._clock())
        return await proceed(call)

    def _recent(self, server: str, side: str, who: str, rate: Rate) -> deque[float]:
        """Return when a caller has called lately."""
        times = self._times.setdefault((server, side, who), deque())
        self._times.move_to_end((server, side, who))
        if len(self._times) > MAX_CALLERS:
            self._times.popitem(last=False)
        while times and times[0] <= self._clock() - rate.seconds:
            times.popleft()
        return times


def _refusal(call: Call, rate: Rate, side: str, seconds: float) -> RateLimited:
    whom = "in one chat" if side == "chat" else "by one user"
    limit = f"{rate.calls} calls within {rate.seconds:g} s {whom}"
    text = f"MCP server '{call.tool.server}' takes no more than {limit}; wait {max(math.ceil(seconds), 1)} s"
    return RateLimited(text, server=call.tool.server)
