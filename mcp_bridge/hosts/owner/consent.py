"""The owner's consent to single calls: asked for in the chat, given with `/mcp yes`."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable

from ...calls import Call
from ...errors import PermissionDenied
from ...text import json_text
from ...text.cleaning import clean_label, truncate
from .actions import OwnerActions
from .chats import ChatStreams

SendText = Callable[[str, str], Awaitable[bool]]
"""Sends a text (stream id, text) into a chat and returns whether that worked; never raises."""
_ARGUMENT_CHARS = 400
_LABEL_CHARS = 80


class Consents:
    """Open questions to the owner, by number. Use it on the host's loop only."""

    def __init__(self, actions: OwnerActions, chats: ChatStreams, send: SendText) -> None:
        self._actions = actions
        self._chats = chats
        self._send = send
        self._numbers = itertools.count(1)
        self._open: dict[int, asyncio.Future[bool]] = {}

    async def ask(self, call: Call) -> bool:
        """Ask in the chat of a call, and wait for the owner. Raises `PermissionDenied` if that is impossible."""
        if not self._actions.config.owners:
            raise _impossible(call, 'config.toml names no owner ([mcp] owners = ["qq:10001"])')
        number = next(self._numbers)
        answer = self._open[number] = asyncio.get_running_loop().create_future()
        try:
            if not await self._send(self._chats.stream_id(call.chat), self._question(call, number)):
                raise _impossible(call, "the question could not be sent to this chat")
            allowed: bool = await answer
            return allowed
        finally:
            del self._open[number]

    def answer(self, number: int | None, *, yes: bool) -> str:
        """Record the owner's answer, to the only open question if `number` is None; return the reply."""
        words = self._actions.words
        if number is None and len(self._open) == 1:
            number = next(iter(self._open))
        if number is None:
            return words("no_questions") if not self._open else words("no_question", number="?")
        future = self._open.get(number)
        if future is None or future.done():
            return words("no_question", number=number)
        future.set_result(yes)
        return words("answered.yes" if yes else "answered.no", number=number)

    def _question(self, call: Call, number: int) -> str:
        return self._actions.words(
            "ask",
            server=call.tool.server,
            tool=truncate(clean_label(call.tool.remote_name), _LABEL_CHARS),
            arguments=truncate(clean_label(json_text.dumps(call.arguments)), _ARGUMENT_CHARS),
            number=number,
            seconds=f"{call.config.confirm_timeout:g}",
        )


def _impossible(call: Call, reason: str) -> PermissionDenied:
    tool = call.tool
    text = f"tool '{tool.name}' of MCP server '{tool.server}' needs consent, but {reason}"
    return PermissionDenied(text, server=tool.server)
