"""How often a server may be called in one chat and by one user."""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from ..config.server_config import Rate
from ..errors import RateLimited
from ..tools.result import ToolResult
from .call import Call, Proceed

MAX_CALLERS = 4096
"""Chats and users that are kept count of; the one that has been quiet longest is forgotten."""


class RateLimiter:
    """Middleware that refuses a call beyond the owner's `rate`; refused calls do not count.

    The owner's own program, which names neither chat nor user, is not limited.
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
