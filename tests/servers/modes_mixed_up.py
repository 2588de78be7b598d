"""Modes that answer one call with the id of another."""

from __future__ import annotations

from base import STRING, Server, mode, text, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from base import Request
    from wire import Message


@mode("id_of_another")
class IdOfAnother(Server):
    """Tool `mixed` is answered with the id of the call before (`shift`=-1), as a server with a broken table does."""

    extra = (tool("mixed", "Answer somebody else.", {"text": STRING}),)

    def answer_id(self, request: Request) -> Any:
        if request.params.get("name") != "mixed":
            return request.id
        return request.id + int(self.number("shift", -1))

    def tool_mixed(self, request: Request, arguments: Message) -> Message:
        return text(str(arguments.get("text", "")))
