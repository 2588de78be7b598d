"""The bridge's own stages around a call: permission, rate limits, repair of the arguments, consent."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import replace

from ..config.rules import is_admitted, matches
from ..config.server_config import Rate
from ..errors import PermissionDenied, RateLimited
from ..tools.arguments.repair import ArgumentsError, parse_arguments
from ..tools.result import ToolResult, error_result
from .call import Call, Proceed

Confirm = Callable[[Call], Awaitable[bool]]
"""Ask the owner whether a call may be made. Cancelled after `confirm_timeout`."""


class Confirmation:
    """Middleware that asks the owner before a call of a tool that `confirm` names.

    `Caller.is_owner_program` needs no consent. Consent holds for the call that was shown: `still_offered` tells
    after the answer whether its tool and configuration are unchanged.
    """

    def __init__(
        self, confirm: Confirm | None = None, still_offered: Callable[[Call], bool] = lambda call: True
    ) -> None:
        self._confirm = confirm
        self._still_offered = still_offered

    async def __call__(self, call: Call, proceed: Proceed) -> ToolResult:
        """Raises `PermissionDenied` if the owner cannot be asked, does not answer, or refuses."""
        tool = call.tool
        if call.caller.is_owner_program:
            return await proceed(call)
        if not matches(call.config.confirm, tool.remote_name, tool.annotations):
            return await proceed(call)
        call = replace(call, arguments=deepcopy(call.arguments))  # what is shown is what is sent
        if (objection := await self._ask(call)) is not None:
            text = (
                f"tool '{tool.name}' of MCP server '{tool.server}' needs the owner's consent for each call; {objection}"
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
        if not question.result():
            return "it was refused"
        if not self._still_offered(call):
            return "the tool or its server was changed or switched off while the question was open: call it again"
        return None


async def permit(call: Call, proceed: Proceed) -> ToolResult:
    """Middleware that refuses callers whom `chats` or `users` does not admit. Raises `PermissionDenied`."""
    if not is_admitted(call.config, call.caller):
        tool = call.tool
        text = f"tool '{tool.name}' of MCP server '{tool.server}' is not allowed in this chat"
        if call.user == "" and call.config.users is not None:
            text += ": the bot does not know which user asks here, and `users` limits this server"
        raise PermissionDenied(text, server=tool.server)
    return await proceed(call)


async def repair_call(call: Call, proceed: Proceed) -> ToolResult:
    """Middleware that parses and repairs the arguments; the result is an error if they cannot be read."""
    try:
        arguments = call.tool.arguments_for_server(parse_arguments(call.arguments))
    except ArgumentsError as error:
        return error_result(str(error), max_chars=call.config.max_result_chars)
    return await proceed(replace(call, arguments=arguments))


MAX_CALLERS = 4096
"""Chats and users with a rate limit that are remembered; the one longest without a call is dropped."""


class RateLimiter:
    """Middleware that refuses calls beyond the owner's `rate`; refused calls do not count.

    `Caller.is_owner_program` has no limit.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: OrderedDict[tuple[str, str, str], deque[float]] = OrderedDict()

    async def __call__(self, call: Call, proceed: Proceed) -> ToolResult:
        """Raises `RateLimited`, with the seconds to wait in the message."""
        limits = call.config.rate
        if limits.chat is None and limits.user is None:
            return await proceed(call)
        # Where the bot does not know the user, all who ask in a chat count as one.
        user = call.chat if call.user == "" else call.user
        sides = [("chat", call.chat, limits.chat), ("user", user, limits.user)]
        counted = [
            (self._recent(call.config.name, side, identifier, rate), rate, side)
            for side, identifier, rate in sides
            if identifier is not None and rate is not None
        ]
        for times, rate, side in counted:
            if len(times) >= rate.calls:
                raise _rate_limited(call, rate, side, times[-rate.calls] + rate.seconds - self._clock())
        for times, _, _ in counted:
            times.append(self._clock())
        return await proceed(call)

    def _recent(self, server: str, side: str, identifier: str, rate: Rate) -> deque[float]:
        """Return the times of a chat's or user's calls within the period of the rate."""
        times = self._times.setdefault((server, side, identifier), deque())
        self._times.move_to_end((server, side, identifier))
        if len(self._times) > MAX_CALLERS:
            self._times.popitem(last=False)
        while times and times[0] <= self._clock() - rate.seconds:
            times.popleft()
        return times


def _rate_limited(call: Call, rate: Rate, side: str, seconds: float) -> RateLimited:
    scope = "in one chat" if side == "chat" else "by one user"
    limit = f"{rate.calls} calls within {rate.seconds:g} s {scope}"
    text = f"MCP server '{call.tool.server}' takes no more than {limit}; wait {max(math.ceil(seconds), 1)} s"
    return RateLimited(text, server=call.tool.server)
