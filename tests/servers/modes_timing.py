"""Modes about time: slow tools, tools without an answer, progress, cancellation, state between calls."""

from __future__ import annotations

import time

from base import COUNT, NUMBER, SLEEP, STRING, Server, mode, text, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from base import Request
    from wire import Message


@mode("count")
class Count(Server):
    """Tool `count` returns how often it was called in this process: shows which session served a call."""

    extra = (COUNT,)


@mode("sleep")
class Sleep(Server):
    """Tool `sleep` waits `seconds`, then returns; calls run side by side."""

    extra = (SLEEP,)


@mode("state")
class State(Server):
    """Tools `set` and `get` keep values in the process, as a browser or REPL does."""

    extra = (
        tool("set", "Keep a value.", {"key": STRING, "value": STRING}, "key", "value"),
        tool("get", "Return a value.", {"key": STRING}, "key"),
    )

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.kept: dict[str, str] = {}

    def tool_set(self, request: Request, arguments: Message) -> Message:
        self.kept[str(arguments["key"])] = str(arguments["value"])
        return text("kept")

    def tool_get(self, request: Request, arguments: Message) -> Message:
        return text(self.kept.get(str(arguments["key"]), "(nothing)"))


@mode("slow_call")
class SlowCall(Server):
    """Tool `slow` takes `delay` (3) s; logs `cancelled` / `late`; answers even after a cancellation."""

    extra = (tool("slow", "Take a while.", {"delay": NUMBER}),)
    threaded = ("slow", "sleep")

    def tool_slow(self, request: Request, arguments: Message) -> Message | None:
        delay = float(arguments.get("delay", self.number("delay", 3)))
        deadline = time.monotonic() + delay
        if request.cancelled.wait(delay):
            self.log("cancelled", id=request.id)
            time.sleep(max(0.0, deadline - time.monotonic()))
            self.log("late", id=request.id)
        return text(f"slow answer after {delay:g} s")


@mode("cancel_aware")
class CancelAware(SlowCall):
    """Tool `slow` stops at once when it is cancelled and sends no answer, as the specification asks."""

    def tool_slow(self, request: Request, arguments: Message) -> Message | None:
        delay = float(arguments.get("delay", self.number("delay", 3)))
        if request.cancelled.wait(delay):
            self.log("cancelled", id=request.id)
            return None
        return text(f"slow answer after {delay:g} s")


@mode("cancel_error")
class CancelError(SlowCall):
    """Tool `slow` answers a cancellation with a JSON-RPC error (the Python SDK's servers do)."""

    def tool_slow(self, request: Request, arguments: Message) -> Message | None:
        delay = float(arguments.get("delay", self.number("delay", 3)))
        if request.cancelled.wait(delay):
            self.log("cancelled", id=request.id)
            self.respond(request, error={"code": 0, "message": "Request cancelled"})
            return None
        return text(f"slow answer after {delay:g} s")


@mode("never_call")
class NeverCall(Server):
    """Tool `never` is never answered; the rest works."""

    extra = (tool("never", "Never answer."),)

    def tool_never(self, request: Request, arguments: Message) -> None:
        return None


@mode("blocking_call")
class BlockingCall(Server):
    """Tool `block` blocks the whole server for `delay` (2) s: no ping or other call is answered meanwhile."""

    extra = (tool("block", "Block.", {"delay": NUMBER}),)

    def tool_block(self, request: Request, arguments: Message) -> Message:
        time.sleep(float(arguments.get("delay", self.number("delay", 2))))
        return text("unblocked")


@mode("progress_then_result")
class Progress(Server):
    """Tool `work` takes `seconds` (`delay`=3) and reports progress every 0.3 s if it got a progressToken.

    The result says `token=...`.
    """

    extra = (tool("work", "Work for a while.", {"seconds": NUMBER}),)
    threaded = ("work", "sleep")

    def tool_work(self, request: Request, arguments: Message) -> Message | None:
        seconds = float(arguments.get("seconds", self.number("delay", 3)))
        end = time.monotonic() + seconds
        step = 0
        while (left := end - time.monotonic()) > 0:
            if request.cancelled.wait(min(0.3, left)):
                self.log("cancelled", id=request.id)
                break
            step += 1
            if request.token is not None and time.monotonic() < end:
                self.report(request, step, seconds / 0.3)
        return text(f"worked {seconds:g} s, token={request.token!r}")

    def report(self, request: Request, step: int, total: float) -> None:
        params = {"progressToken": request.token, "progress": step, "total": total, "message": f"step {step}"}
        self.notify("notifications/progress", params, request.id)


@mode("progress_endless")
class ProgressEndless(Progress):
    """Tool `work` reports progress every 0.3 s for ever and never answers: only a total limit ends it."""

    def tool_work(self, request: Request, arguments: Message) -> Message | None:
        return super().tool_work(request, {"seconds": 86_400})


@mode("progress_odd")
class ProgressOdd(Progress):
    """Tool `work` reports progress that falls, exceeds the total, is text or missing, or comes too late."""

    def report(self, request: Request, step: int, total: float) -> None:
        token = request.token
        odd: tuple[Message, ...] = (
            {"progress": 9 - step},
            {"progress": 200, "total": 100},
            {"progress": "half"},
            {"total": None},
            {},
        )
        params = {"progressToken": token, **odd[step % len(odd)]}
        self.notify("notifications/progress", params, request.id)

    def tool_work(self, request: Request, arguments: Message) -> None:
        self.respond(request, result=super().tool_work(request, arguments))
        if request.token is not None:
            self.report(request, 1, 1)


@mode("progress_wrong_token")
class ProgressWrongToken(Progress):
    """Tool `work` reports progress under a token that the client never gave: the call stays idle."""

    def report(self, request: Request, step: int, total: float) -> None:
        params = {"progressToken": f"not-{request.token}", "progress": step}
        self.notify("notifications/progress", params, request.id)
