"""Calls that the owner has to allow one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ..config.rules import matches
from ..errors import PermissionDenied
from ..tools.result import ToolResult
from .call import Call, Proceed

Confirm = Callable[[Call], Awaitable[bool]]
"""Asks the owner, and returns whether the call is allowed. Cancelled when the time is up."""


class Confirmation:
    """Middleware that asks before a call of a tool that the owner's `confirm` names.

    The owner's own program, which names neither chat nor user, is not asked.
    """

    def __init__(self, confirm: Confirm | None = None) -> None:
        self._confirm = confirm

    async def __call__(self, call: Call, proceed: Proceed) -> ToolResult:
        """Raises `PermissionDenied` if nobody can be asked, nobody answers, or the answer is no."""
        tool = call.tool
        if call.chat is None and call.user is None:
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
