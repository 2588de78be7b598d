"""The owner's consent to single calls: asked for in the chat, given with `/mcp yes`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ...aio import run_in_thread
from ...calls import Call
from ...errors import PermissionDenied
from ...text import json_text
from ...text.cleaning import escape_hidden
from .actions import OwnerActions
from .chats import ChatStreams
from .numbers import Numbers

SendText = Callable[[str, str], Awaitable[bool]]
"""Sends a text (stream id, text) into a chat and returns whether that worked; never raises."""
MAX_SHOWN_CHARS = 2000
"""Longest tool name and arguments in a question. A call with longer ones is refused: the owner must see all of it."""


@dataclass(frozen=True)
class _Question:
    """A question that waits in a chat for the owner's answer."""

    stream_id: str
    answer: asyncio.Future[bool]


class Consents:
    """Open questions to the owner, by number. Use it on the host's loop only.

    An answer counts only in the chat where its question was shown.
    """

    def __init__(self, actions: OwnerActions, chats: ChatStreams, send: SendText, numbers: Numbers) -> None:
        self._actions = actions
        self._chats = chats
        self._send = send
        self._numbers = numbers
        self._numbering = asyncio.Lock()
        self._open: dict[int, _Question] = {}

    async def ask(self, call: Call) -> bool:
        """Ask in the chat of a call, and wait for the owner. Raises `PermissionDenied` if that is impossible."""
        if not self._actions.config.owners:
            raise _impossible(call, 'config.toml names no owner ([mcp] owners = ["qq:10001"])')
        tool, arguments = escape_hidden(call.tool.remote_name), escape_hidden(json_text.dumps(call.arguments))
        if len(tool) + len(arguments) > MAX_SHOWN_CHARS:
            size = f"{len(tool) + len(arguments)} characters, at most {MAX_SHOWN_CHARS}"
            raise _impossible(call, f"its arguments are too long to be shown to the owner ({size})")
        async with self._numbering:  # one at a time: each number is read from a file, and written there
            number = await run_in_thread(self._numbers.take)
        question = _Question(self._chats.stream_id(call.chat), asyncio.get_running_loop().create_future())
        self._open[number] = question
        try:
            text = self._actions.texts(
                "ask",
                server=call.tool.server,
                tool=tool,
                arguments=arguments,
                number=number,
                seconds=f"{call.config.confirm_timeout:g}",
            )
            if not await self._send(question.stream_id, text):
                raise _impossible(call, "the question could not be sent to this chat")
            return await question.answer
        finally:
            del self._open[number]

    def answer(self, number: int | None, stream_id: str, *, yes: bool) -> str:
        """Record the owner's answer, to the only question of that chat if `number` is None; return the reply."""
        texts = self._actions.texts
        here = [one for one, question in self._open.items() if question.stream_id == stream_id]
        if number is None and len(here) == 1:
            number = here[0]
        if number is None:
            return texts("no_question", number="?") if here else texts("no_questions")
        if number not in here or self._open[number].answer.done():
            return texts("no_question", number=number)
        self._open[number].answer.set_result(yes)
        return texts("answered.yes" if yes else "answered.no", number=number)


def _impossible(call: Call, reason: str) -> PermissionDenied:
    tool = call.tool
    text = f"tool '{tool.name}' of MCP server '{tool.server}' needs consent, but {reason}"
    return PermissionDenied(text, server=tool.server)
