"""Modes about requests from the server to the client: roots, ping, sampling, elicitation, unknown ones."""

from __future__ import annotations

import threading
import time

from base import Server, as_json, mode, text, tool
from wire import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from base import Request
    from wire import Message

ASK = tool("ask", "Ask the client and return its answer as JSON.")
MESSAGES = [{"role": "user", "content": {"type": "text", "text": "Say hi"}}]


class Asking(Server):
    """A server whose tool `ask` sends one request to the client and returns the answer, or `no answer`."""

    extra = (ASK,)
    threaded = ("ask", "sleep")
    method = "ping"
    params: ClassVar[Message | None] = None

    def tool_ask(self, request: Request, arguments: Message) -> Message | None:
        return self.report(self.ask_and_wait(self.method, self.params, 5, related=request.id))

    def report(self, answer: Message | None) -> Message:
        if answer is None:
            return text("no answer")
        self.log("answered", answer=answer)
        return text(as_json({key: answer[key] for key in ("result", "error") if key in answer}))


@mode("asks_roots")
class AsksRoots(Asking):
    """Sends roots/list right after `initialized` and in tool `ask`; tools/list waits for the answer (5 s).

    Servers of file systems learn that way what they may touch.
    """

    method = "roots/list"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.first_answer = threading.Event()

    def initialized(self) -> None:
        self.ask(self.method, then=self.take)

    def take(self, answer: Message) -> None:
        self.log("answered", answer=answer)
        self.first_answer.set()

    def list_page(self, cursor: Any) -> Message | None:
        self.first_answer.wait(5)
        return super().list_page(cursor)

    def receive(self, message: Any) -> None:
        if isinstance(message, dict) and message.get("method") == "tools/list":
            self.spawn(super().receive, message)  # beside the reader: the answer to roots/list must be read meanwhile
        else:
            super().receive(message)


@mode("takes_roots")
class TakesRoots(Asking):
    """Sends roots/list after `initialized` and takes `delay` (0.05) s more until it works with the answer.

    Tool `ask` tells what it works with now, `nothing` at first. With `ping=no` pings get no answer.
    """

    method = "roots/list"
    works_with = "nothing"

    def initialized(self) -> None:
        self.ask(self.method, then=lambda answer: self.spawn(self.take, answer))

    def take(self, answer: Message) -> None:
        time.sleep(self.number("delay", 0.05))
        if "result" in answer:
            self.works_with = ", ".join(root["uri"] for root in answer["result"]["roots"])

    def tool_ask(self, request: Request, arguments: Message) -> Message | None:
        return text(self.works_with)

    def dispatch(self, request: Request) -> Message | None:
        if request.method == "ping" and self.options.get("ping") == "no":
            return None
        return super().dispatch(request)


@mode("asks_ping")
class AsksPing(Asking):
    """Pings the client every `period` (0.3) s; exits with status 5 when no answer comes in 3 s."""

    def initialized(self) -> None:
        self.spawn(self.ping_for_ever)

    def ping_for_ever(self) -> None:
        while True:
            answer = self.ask_and_wait("ping", None, 3)
            if answer is None or "result" not in answer:
                complain(f"client is gone: ping got {answer}")
                self.log.leave(5)
            time.sleep(self.number("period", 0.3))


@mode("asks_sampling")
class AsksSampling(Asking):
    """Tool `ask` sends sampling/createMessage, whether the client announced it or not."""

    method = "sampling/createMessage"
    params: ClassVar[Message] = {"messages": MESSAGES, "maxTokens": 10}


@mode("asks_elicitation")
class AsksElicitation(Asking):
    """Tool `ask` sends elicitation/create with a form that has defaults."""

    method = "elicitation/create"
    params: ClassVar[Message] = {
        "message": "Which city?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "default": "Oslo"},
                "days": {"type": "integer", "default": 3},
                "mode": {"type": "string", "enum": ["fast", "cheap"], "default": "fast"},
                "extra": {"type": "boolean"},
            },
            "required": ["city"],
        },
    }


@mode("asks_elicitation_url")
class AsksElicitationUrl(Asking):
    """Tool `ask` sends elicitation/create in url mode."""

    method = "elicitation/create"
    params: ClassVar[Message] = {
        "mode": "url",
        "message": "Log in",
        "url": "https://a.invalid/",
        "elicitationId": "1",
    }


@mode("asks_unknown")
class AsksUnknown(Asking):
    """Tool `ask` sends a request whose method nobody knows."""

    method = "vendor/whatever"
    params: ClassVar[Message] = {"x": 1}


@mode("asks_malformed")
class AsksMalformed(Asking):
    """Tool `ask` sends roots/list with params that are no object, then returns the answer."""

    method = "roots/list"

    def tool_ask(self, request: Request, arguments: Message) -> Message:
        return self.report(self.ask_and_wait(self.method, [1, None], 5, related=request.id))


@mode("asks_same_id")
class AsksSameId(Asking):
    """Tool `ask` pings the client with the id of the running tools/call (legal: two directions)."""

    def tool_ask(self, request: Request, arguments: Message) -> Message:
        return self.report(self.ask_and_wait("ping", None, 5, request.id, request.id))


@mode("asks_string_id")
class AsksStringId(Asking):
    """Tool `ask` pings the client with a string id; the answer must carry it unchanged."""

    def tool_ask(self, request: Request, arguments: Message) -> Message:
        return self.report(self.ask_and_wait("ping", None, 5, "ping-一-1", request.id))


@mode("asks_many")
class AsksMany(Asking):
    """Tool `ask` sends `count` (200) pings at once and returns how many were answered within 5 s."""

    def tool_ask(self, request: Request, arguments: Message) -> Message:
        answers: list[Message] = []
        count = int(self.number("count", 200))
        for _ in range(count):
            self.ask("ping", None, answers.append, related=request.id)
        deadline = time.monotonic() + 5
        while len(answers) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        return text(f"{len(answers)} of {count}")


@mode("asks_in_list")
class AsksInList(AsksRoots):
    """Asks roots/list only when tools/list arrives, and answers that after the client's answer (5 s)."""

    def initialized(self) -> None:
        pass

    def list_page(self, cursor: Any) -> Message | None:
        self.ask(self.method, then=self.take)
        return super().list_page(cursor)


@mode("asks_after_answer")
class AsksAfterAnswer(Asking):
    """Tool `ask` is answered at once; a ping follows 50 ms later, when the client may be closing already."""

    def tool_ask(self, request: Request, arguments: Message) -> None:
        self.respond(request, result=text("ping follows"))
        time.sleep(0.05)
        self.ask("ping", then=lambda answer: self.log("answered", answer=answer))
