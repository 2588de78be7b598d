"""Modes about the answers' envelope: ids, order, duplicates, batches, members that should not be there.

`on`=METHOD limits an oddity to one method where the class says so.
"""

from __future__ import annotations

import time

from base import STRING, Server, mode, text, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from base import Request
    from wire import Message

CALL = "tools/call"


class Envelope(Server):
    """A server whose answers to `on` (default: the class's `default_on`; `*` for all) are odd."""

    default_on = CALL

    def odd(self, request: Request) -> bool:
        return self.options.get("on", self.default_on) in ("*", request.method)


@mode("id_string")
class IdString(Envelope):
    """Answers carry the request's id as a string (`on`=*): servers whose id type is a string."""

    default_on = "*"

    def answer_id(self, request: Request) -> Any:
        return str(request.id) if self.odd(request) else request.id


@mode("id_float")
class IdFloat(Envelope):
    """Answers carry the request's id as a float, 1 becomes 1.0 (`on`=*): Lua and JavaScript bridges."""

    default_on = "*"

    def answer_id(self, request: Request) -> Any:
        return float(request.id) if self.odd(request) and isinstance(request.id, int) else request.id


@mode("id_null")
class IdNull(Envelope):
    """Answers to tools/call (`on`) carry id null."""

    def answer_id(self, request: Request) -> Any:
        return None if self.odd(request) else request.id


@mode("id_wrong")
class IdWrong(Envelope):
    """Answers to tools/call (`on`) carry an id that was never asked."""

    def answer_id(self, request: Request) -> Any:
        return 987654321 if self.odd(request) else request.id


@mode("id_list")
class IdList(Envelope):
    """Answers to tools/call (`on`) carry a list as id (unhashable: a dict lookup raises)."""

    def answer_id(self, request: Request) -> Any:
        return [request.id] if self.odd(request) else request.id


@mode("id_missing")
class IdMissing(Envelope):
    """Answers to tools/call (`on`) have no id at all."""

    def respond(self, request: Request, **body: Any) -> None:
        if self.odd(request):
            self.send({"jsonrpc": "2.0", **body}, request.id, final=True)
        else:
            super().respond(request, **body)


@mode("id_last")
class IdLast(Envelope):
    """Answers have the id behind the result and no `jsonrpc` member (hand-written servers)."""

    def respond(self, request: Request, **body: Any) -> None:
        self.send({**body, "id": request.id}, request.id, final=True)


@mode("jsonrpc_old")
class JsonRpcOld(Envelope):
    """Answers in the style of JSON-RPC 1.0: `jsonrpc` is 2.0 as a number, `error: null` beside the result."""

    def respond(self, request: Request, **body: Any) -> None:
        both = {"result": None, "error": None, **body}
        self.send({"jsonrpc": 2.0, "id": request.id, **both}, request.id, final=True)


@mode("duplicate_answers")
class DuplicateAnswers(Envelope):
    """Every answer is sent twice, the second time after the next answer too."""

    last: Message | None = None

    def respond(self, request: Request, **body: Any) -> None:
        answer = {"jsonrpc": "2.0", "id": request.id, **body}
        self.send(answer, request.id)
        if self.last is not None:
            self.send(self.last)
        self.last = answer
        self.send(answer, request.id, final=True)


@mode("stray_answers")
class StrayAnswers(Envelope):
    """Answers to requests never made, and an error with id null, arrive before every answer."""

    def respond(self, request: Request, **body: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": 424242, "result": {"content": []}}, request.id)
        self.send({"jsonrpc": "2.0", "id": "no-such", "error": {"code": 1, "message": "x"}}, request.id)
        parse_error = {"code": -32700, "message": "Parse error"}
        self.send({"jsonrpc": "2.0", "id": None, "error": parse_error}, request.id)
        super().respond(request, **body)


@mode("batch")
class Batch(Envelope):
    """Answers to `on` (*) come as a JSON-RPC batch: an array of a notification and the answer."""

    default_on = "*"

    def respond(self, request: Request, **body: Any) -> None:
        if not self.odd(request):
            super().respond(request, **body)
            return
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "b"}}
        self.send([note, {"jsonrpc": "2.0", "id": request.id, **body}], request.id, final=True)


@mode("error_notification")
class ErrorAsNotification(Envelope):
    """Tool `lost` reports its failure as a notification named `error` instead of an answer."""

    extra = (tool("lost", "Fail without an answer."),)

    def tool_lost(self, request: Request, arguments: Message) -> None:
        self.notify("error", {"id": request.id, "message": "tool failed"}, request.id)


@mode("unknown_notifications")
class UnknownNotifications(Envelope):
    """Unknown and malformed notifications (params null, a list, a string) arrive before every answer."""

    def respond(self, request: Request, **body: Any) -> None:
        self.notify("notifications/vendor/heartbeat", {"n": 1}, request.id)
        self.notify("$/logTrace", related=request.id)
        for params in ([], "text", 5, [1, 2]):
            self.notify("notifications/message", params, request.id)
        self.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": None}, request.id)
        self.notify("notifications/cancelled", {"requestId": request.id}, request.id)
        self.notify("notifications/progress", {"progressToken": "nobody", "progress": "x"}, request.id)
        super().respond(request, **body)


@mode("chatter")
class Chatter(Server):
    """Sends a log notification every `period` (0.001) s from `initialized` on, whatever else happens."""

    def initialized(self) -> None:
        self.spawn(self.chat_for_ever)

    def chat_for_ever(self) -> None:
        while True:
            self.notify("notifications/message", {"level": "debug", "data": "still here"})
            time.sleep(self.number("period", 0.001))


@mode("log_flood")
class LogFlood(Server):
    """Sends `count` (2000) log notifications before each tools/call answer."""

    def call(self, request: Request, name: str, arguments: Any) -> Message | None:
        for number in range(int(self.number("count", 2000))):
            params = {"level": "debug", "logger": "odd", "data": {"n": number, "text": "x" * 100}}
            self.notify("notifications/message", params, request.id)
        return super().call(request, name, arguments)


@mode("reorder")
class Reorder(Server):
    """Tool `late` is answered only after the next `late` call (or `delay`=1 s): answers out of order."""

    extra = (tool("late", "Answer in reverse order.", {"text": STRING}),)
    threaded = ("late", "sleep")
    calls = 0

    def tool_late(self, request: Request, arguments: Message) -> Message:
        self.calls += 1
        seen = self.calls
        deadline = time.monotonic() + self.number("delay", 1)
        while self.calls == seen and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.02 if self.calls != seen else 0)
        return text("late:" + str(arguments.get("text", "")))


@mode("answer_cut")
class AnswerCut(Server):
    """Answers to tools/call `cut` are broken off after `keep` (18) bytes, before their id (a proxy's buffer)."""

    extra = (tool("cut", "Answer with half a message."),)

    def tool_cut(self, request: Request, arguments: Message) -> None:
        whole = self.encode({"jsonrpc": "2.0", "id": request.id, "result": text("never seen")})
        self.send_bytes(whole[: int(self.number("keep", 18))], request.id, final=True)
