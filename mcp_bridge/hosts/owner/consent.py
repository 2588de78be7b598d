"""The owner's consent to single calls, asked for in the chat and given with `/mcp yes`."""

from __future__ import annotations

import asyncio
import itertools
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection

from ...calls import Call
from ...errors import PermissionDenied
from ...text import json_text
from ...text.cleaning import clean_label, truncate
from .texts import OwnerTexts

MAX_STREAMS = 1024
"""Chats whose address is remembered; the one that was quiet longest is forgotten."""
_ARGUMENT_CHARS = 400


class Consents:
    """Open questions, by number. To be used on the host's loop.

    `say(stream_id, text)` says something in a chat and tells whether that worked.
    """

    def __init__(self, say: Callable[[str, str], Awaitable[bool]]) -> None:
        self.words = OwnerTexts("zh")
        self.owners: Collection[str] = ()
        self._say = say
        self._numbers = itertools.count(1)
        self._open: dict[int, asyncio.Future[bool]] = {}
        self._streams: OrderedDict[str, str] = OrderedDict()

    def note_chat(self, chat: str | None, stream_id: str) -> None:
        """Remember how a chat is addressed."""
        if chat and stream_id:
            self._streams[chat] = stream_id
            self._streams.move_to_end(chat)
            if len(self._streams) > MAX_STREAMS:
                self._streams.popitem(last=False)

    async def ask(self, call: Call) -> bool:
        """Ask in the chat of a call, and wait for the owner. Raises `PermissionDenied` if that is impossible."""
        tool = call.tool
        if not self.owners:
            text = 'nobody is named as owner in config.toml ([mcp] owners = ["qq:10001"])'
            raise PermissionDenied(
                f"tool '{tool.name}' of MCP server '{tool.server}' needs consent, but {text}", server=tool.server
            )
        number = next(self._numbers)
        answer = self._open[number] = asyncio.get_running_loop().create_future()
        shown = truncate(clean_label(json_text.dumps(call.arguments)), _ARGUMENT_CHARS)
        seconds = f"{call.config.confirm_timeout:g}"
        label = truncate(clean_label(tool.remote_name), 80)
        question = self.words("ask", server=tool.server, tool=label, arguments=shown, number=number, seconds=seconds)
        try:
            if not await self._say(self._streams.get(call.chat or "", ""), question):
                text = "the question could not be said in this chat"
                raise PermissionDenied(
                    f"tool '{tool.name}' of MCP server '{tool.server}' needs consent, but {text}", server=tool.server
                )
            allowed: bool = await answer
            return allowed
        finally:
            del self._open[number]

    def answer(self, number: int | None, *, yes: bool) -> str:
        """Take the owner's answer, to the only open question if it names none; return what to say."""
        if number is None and len(self._open) == 1:
            number = next(iter(self._open))
        if number is None:
            return self.words("no_questions") if not self._open else self.words("no_question", number="?")
        future = self._open.get(number)
        if future is None or future.done():
            return self.words("no_question", number=number)
        future.set_result(yes)
        return self.words("answered.yes" if yes else "answered.no", number=number)
