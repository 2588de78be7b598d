"""Modes whose messages leave it in doubt what they mean: without a name, under a foreign one, with no usable value."""

from __future__ import annotations

import json
import os
import time

from base import METHOD_NOT_FOUND, NUMBER, STRING, RpcError, Server, mode, text, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from base import Request
    from wire import Message

SAY = tool("say", "Return the text after some seconds.", {"text": STRING, "seconds": NUMBER}, "text")
ODD = tool("odd", "Send the odd message, then return `odd`.")


class Doubtful(Server):
    """A server with a tool `say`, which answers beside the reader, and a tool `odd`."""

    extra = (SAY, ODD)
    threaded = ("say", "sleep")
    stdio_only = True

    def tool_say(self, request: Request, arguments: Message) -> Message | None:
        time.sleep(float(arguments.get("seconds", 0)))
        return text(str(arguments["text"]))

    def tool_odd(self, request: Request, arguments: Message) -> Message | None:
        return text("odd")

    def line(self, words: str) -> None:
        """Write a line as it stands."""
        self.channel.write(words.encode("utf-8", "surrogatepass") + b"\n")


@mode("answers_notifications")
class AnswersNotifications(Doubtful):
    """Answers notifications without an id, with a result, or with `error`=CODE; tools/list takes `list`=SECONDS."""

    def notification(self, method: str, params: Message) -> None:
        code = int(self.number("error", 0))
        body: Message = {"error": {"code": code, "message": "Method not found"}} if code else {"result": {}}
        self.send({"jsonrpc": "2.0", "id": None, **body})
        super().notification(method, params)

    def list_page(self, cursor: Any) -> Message | None:
        time.sleep(self.number("list", 0))
        return super().list_page(cursor)


@mode("late_nameless_ping")
class LateNamelessPing(Doubtful):
    """Answers pings after 1.6 s, when nobody waits any more, and calls after 0.3 s, all without an id."""

    def answer_id(self, request: Request) -> Any:
        return None if request.method in ("ping", "tools/call") else request.id

    def dispatch(self, request: Request) -> Message | None:
        time.sleep({"ping": 1.6, "tools/call": 0.3}.get(request.method, 0))
        return super().dispatch(request)


@mode("failures_nameless")
class FailuresNameless(Doubtful):
    """Every failure is told without an id; `odd` is a failure, and `ping` is not known."""

    def tool_odd(self, request: Request, arguments: Message) -> Message | None:
        raise RpcError(-32603, "it broke")

    def dispatch(self, request: Request) -> Message | None:
        if request.method == "ping":
            raise RpcError(METHOD_NOT_FOUND, "Method not found: ping")
        return super().dispatch(request)

    def respond(self, request: Request, **body: Any) -> None:
        name = None if "error" in body else request.id
        self.send({"jsonrpc": "2.0", "id": name, **body}, request.id, final=True)


@mode("nameless_error_and_answer")
class NamelessErrorAndAnswer(Doubtful):
    """Tool `odd` is answered, after an error without an id."""

    def tool_odd(self, request: Request, arguments: Message) -> Message | None:
        self.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})
        return text("odd")


DEEP = "[" * 600 + "]" * 600


@mode("odd_values")
class OddValues(Doubtful):
    """Tool `odd` sends a message with a value that cannot be used (`value`=KEY of `sent`), then its answer."""

    sent: ClassVar[dict[str, tuple[str, ...]]] = {
        "token_list": tuple(
            '{"method":"notifications/progress","params":{"progressToken":' + token + ',"progress":1}}'
            for token in ("[1]", '{"a":1}', "1e999", "NaN", "true")
        ),
        "id_nan": ('{"jsonrpc":"2.0","id":NaN,"method":"ping"}',),
        "id_infinite": ('{"jsonrpc":"2.0","id":1e999,"method":"roots/list"}',),
        "id_list_nan": ('{"jsonrpc":"2.0","id":[NaN],"method":"ping"}',),
        "id_deep": ('{"jsonrpc":"2.0","method":"ping","id":' + DEEP + "}",),
        "default_nan": (
            '{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"requestedSchema":'
            '{"properties":{"a":{"type":"number","default":NaN},"b":{"default":1}}}}}',
        ),
        "log_deep": ('{"jsonrpc":"2.0","method":"notifications/message","params":{"data":' + DEEP + "}}",),
    }

    def tool_odd(self, request: Request, arguments: Message) -> Message | None:
        for words in self.sent[self.options["value"]]:
            self.line(words)
        return text("odd")


@mode("deep_answer_in_noise")
class DeepAnswerInNoise(Doubtful):
    """Tool `odd` is answered among noise on the line, too deep, with half a character."""

    def tool_odd(self, request: Request, arguments: Message) -> Message | None:
        result = '{"content":[],"structuredContent":{"x":"\\ud800","d":' + DEEP + "}}"
        self.line(f'noise {{"jsonrpc":"2.0","id":{json.dumps(request.id)},"result":{result}}}')
        return None


@mode("deep_error")
class DeepError(Doubtful):
    """Tool `odd` is answered with an error whose message is 600 arrays deep."""

    def tool_odd(self, request: Request, arguments: Message) -> Message | None:
        self.line(f'{{"jsonrpc":"2.0","id":{json.dumps(request.id)},"error":{{"code":1,"message":{DEEP}}}}}')
        return None


@mode("rows_with_ids")
class RowsWithIds(Doubtful):
    """The answer to `odd` ends with its id, and begins with rows that hold the id of the call before.

    `bad=long` makes it longer than 1 MiB, `bad=json` no JSON.
    """

    def tool_odd(self, request: Request, arguments: Message) -> Message | None:
        time.sleep(0.2)
        pad = "x" * 1_500_000 if self.options["bad"] == "long" else "UNDEFINED"
        content = {"rows": [{"id": request.id - 1}], "pad": pad, "more": [{"id": request.id - 1}]}
        body = json.dumps({"result": {"structuredContent": content, "content": []}, "id": request.id})
        self.line(body.replace('"UNDEFINED"', "undefined"))
        return None


@mode("pretty_long")
class PrettyLong(Doubtful):
    """Tool `odd` is answered on `lines` (3000) lines; `what=noise`: its answer follows something else on them."""

    def tool_odd(self, request: Request, arguments: Message) -> Message | None:
        numbers = list(range(int(self.number("lines", 3000))))
        if self.options.get("what") == "noise":
            self.line(json.dumps({"debug": [{"k": number} for number in numbers]}, indent=2))
            return text("odd")
        result = {**text("odd"), "_meta": {"numbers": numbers}}
        self.line(json.dumps({"jsonrpc": "2.0", "id": request.id, "result": result}, indent=2))
        return None


@mode("big_words")
class BigWords(Doubtful):
    """Tool `odd` sends a log message, progress and a request with texts of `chars` (1000000) characters each."""

    def tool_odd(self, request: Request, arguments: Message) -> Message | None:
        words = "中文" * (int(self.number("chars", 1_000_000)) // 2)
        self.notify("notifications/message", {"level": "info", "data": words})
        self.notify("notifications/progress", {"progressToken": request.token, "progress": 1, "message": words})
        self.notify(words)
        self.ask(words)
        return text("odd")


@mode("token_text")
class TokenText(Doubtful):
    """Tool `odd` reports progress every 0.4 s for 2.4 s, under the token as text."""

    threaded = ("say", "odd")

    def tool_odd(self, request: Request, arguments: Message) -> Message | None:
        for number in range(6):
            time.sleep(0.4)
            self.notify("notifications/progress", {"progressToken": str(request.token), "progress": number})
        return text("odd")


@mode("cursor_odd")
class CursorOdd(Doubtful):
    """The first page of tools names the next by `cursor`=JSON, which a later request must bring back as it was."""

    def list_page(self, cursor: Any) -> Message | None:
        sent = json.loads(self.options["cursor"])
        if cursor is None:
            return {"tools": [SAY], "nextCursor": sent}
        return {"tools": [ODD] if json.dumps(cursor) == json.dumps(sent) else []}


@mode("breaks_later")
class BreaksLater(Doubtful):
    """Ends with status 3 at `initialize` as long as the file `while` exists, and whenever `odd` is called."""

    def initialize(self, request: Request) -> Message | None:
        if os.path.exists(self.options["while"]):
            self.log.leave(3)
        return super().initialize(request)

    def tool_odd(self, request: Request, arguments: Message) -> Message | None:
        self.log.leave(2)
