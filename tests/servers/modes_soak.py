"""The mode of the long run (`soak/`): every answer says whose it is, and whose calls its session has seen."""

from __future__ import annotations

import os
import signal
import time

from base import INVALID_PARAMS, NUMBER, STRING, RpcError, Server, as_json, mode, text, tool
from modes_process import helper_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from base import Request
    from wire import Message

HELPER_SECONDS = 3600
"""A helper that nobody ends outlives most runs."""


def asked(name: str, description: str, more: Message | None = None) -> Message:
    properties = {"token": STRING, "chat": STRING, **(more or {})}
    return tool(name, description, properties, "token", "chat")


@mode("soak")
class Soak(Server):
    """Tools that answer with the caller's token and the chats seen in the session; others hang, die, change."""

    extra = (
        asked("tell", "Answer at once."),
        asked("slow", "Answer after a while, unless cancelled.", {"seconds": NUMBER}),
        asked("hang", "Never answer."),
        asked("big", "Answer with much text.", {"size": NUMBER}),
        asked("fail", "Report a failure."),
        asked("refuse", "Answer with a JSON-RPC error."),
        asked("die", "Die without an answer.", {"how": STRING}),
        asked("help", "Start a helper that leaves the group, then answer."),
        asked("change", "Add the tool `more`, or remove it, and say so."),
    )
    threaded = ("slow",)
    changed = False

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.chats: list[str] = []

    def tools(self) -> list[Any]:
        return [*super().tools(), *([asked("more", "Is not always there.")] if self.changed else [])]

    def answer(self, arguments: Message, **more: Any) -> Message:
        """Answer with the token, the number of calls in this session, and the chats that made them."""
        return text(as_json({"token": arguments["token"], "calls": self.counted, "chats": self.chats, **more}))

    def call(self, request: Request, name: str, arguments: Any) -> Message | None:
        self.counted += 1
        chat = str(arguments["chat"])
        if chat not in self.chats:
            self.chats.append(chat)
        if name == "more" and not self.changed:
            raise RpcError(INVALID_PARAMS, f"there is no such tool now: {arguments['token']}")
        return super().call(request, name, arguments)

    def tool_tell(self, request: Request, arguments: Message) -> Message:
        return self.answer(arguments)

    tool_more = tool_tell

    def tool_slow(self, request: Request, arguments: Message) -> Message | None:
        if request.cancelled.wait(float(arguments["seconds"])):
            return None
        return self.answer(arguments)

    def tool_hang(self, request: Request, arguments: Message) -> None:
        return None

    def tool_big(self, request: Request, arguments: Message) -> Message:
        token = str(arguments["token"])
        return text(f"{token} {'x' * int(arguments['size'])} {token}")

    def tool_fail(self, request: Request, arguments: Message) -> Message:
        return {**self.answer(arguments), "isError": True}

    def tool_refuse(self, request: Request, arguments: Message) -> Message:
        raise RpcError(-32000, f"refused: {arguments['token']}")

    def tool_die(self, request: Request, arguments: Message) -> None:
        if arguments.get("how") == "half":
            whole = self.encode({"jsonrpc": "2.0", "id": request.id, "result": self.answer(arguments)})
            self.channel.write(whole[: len(whole) // 2])
        elif arguments.get("how") == "exit":
            self.log.leave(9)
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))

    def tool_help(self, request: Request, arguments: Message) -> Message:
        import subprocess

        null = subprocess.DEVNULL
        command = helper_command(HELPER_SECONDS, (1, 2))
        subprocess.Popen(command, stdin=null, stdout=null, stderr=null, start_new_session=True)
        return self.answer(arguments)

    def tool_change(self, request: Request, arguments: Message) -> Message:
        self.changed = not self.changed
        self.notify("notifications/tools/list_changed", related=request.id)
        time.sleep(0.01)
        return self.answer(arguments)
