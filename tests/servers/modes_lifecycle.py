"""Modes about the life of a server: it does not start, does not answer, or dies at the wrong moment."""

from __future__ import annotations

import os
import signal
import time

from base import STRING, Server, mode, text, tool
from memory import recall, remember
from wire import complain, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from base import Request
    from wire import Message


@mode("exit_at_once")
class ExitAtOnce(Server):
    """Prints the reason to stderr and exits with status 3 before reading anything."""

    stdio_only = True

    def started(self) -> None:
        complain("FATAL: DATABASE_URL is not set")
        self.log.leave(3)


@mode("exit_silent")
class ExitSilent(Server):
    """Exits with status 0 and without a word before reading anything."""

    stdio_only = True

    def started(self) -> None:
        self.log.leave(0)


@mode("exit_no_newline")
class ExitNoNewline(Server):
    """Exits with status 7; the reason on stderr has no line end."""

    stdio_only = True

    def started(self) -> None:
        write_all(2, b"starting\nFATAL: no license")
        self.log.leave(7)


@mode("exit_usage")
class ExitUsage(Server):
    """Prints its usage on stdout (not stderr) and exits with status 2, as with a wrong argument."""

    stdio_only = True

    def started(self) -> None:
        self.channel.write(b"usage: server [-h] --token TOKEN\nserver: error: --token is required\n")
        self.log.leave(2)


@mode("crash_start")
class CrashStart(Server):
    """Dies of an uncaught Python exception at start: traceback on stderr, status 1."""

    stdio_only = True

    def started(self) -> None:
        raise ModuleNotFoundError("No module named 'pandas'")


@mode("crash_call")
class CrashCall(Server):
    """Tool `crash` dies of an uncaught Python exception: traceback on stderr, status 1, no answer."""

    stdio_only = True
    extra = (tool("crash", "Crash.", {"text": STRING}),)

    def tool_crash(self, request: Request, arguments: Message) -> Message:
        raise RuntimeError("database is locked")


@mode("flaky_start")
class FlakyStart(Server):
    """Fails the first `fails` (2) starts with status 3, then works; `state`=FILE counts the starts."""

    stdio_only = True

    def started(self) -> None:
        count = int(recall(self.options.get("state")).get("starts", 0)) + 1
        remember(self.options.get("state"), starts=count)
        if count <= self.number("fails", 2):
            complain(f"start {count} failed: port is taken")
            self.log.leave(3)


@mode("hang_first_start")
class HangFirstStart(Server):
    """The first `hangs` (1) starts never answer initialize, later ones do at once; `state`=FILE counts them."""

    stdio_only = True
    count = 0

    def started(self) -> None:
        self.count = int(recall(self.options.get("state")).get("starts", 0)) + 1
        remember(self.options.get("state"), starts=self.count)

    def initialize(self, request: Request) -> Message | None:
        return super().initialize(request) if self.count > self.number("hangs", 1) else None


@mode("hang_init")
class HangInit(Server):
    """Never answers initialize, but keeps reading."""

    def initialize(self, request: Request) -> None:
        return None


@mode("hang_list")
class HangList(Server):
    """Answers initialize, never answers tools/list."""

    def list_page(self, cursor: Any) -> None:
        return None


@mode("stop_reading")
class StopReading(Server):
    """Tool `stall` is answered, and nothing is read any more: the client's pipe fills until writes block."""

    stdio_only = True
    extra = (tool("stall", "Stop reading."),)

    def tool_stall(self, request: Request, arguments: Message) -> Message:
        self.respond(request, result=text("no more reading"))
        while True:
            time.sleep(3600)


@mode("stop_reading_early")
class StopReadingEarly(Server):
    """Answers initialize and reads nothing after `initialized`, like one that is still loading its data."""

    stdio_only = True

    def initialized(self) -> None:
        while True:
            time.sleep(3600)


@mode("slow_init")
class SlowInit(Server):
    """Answers initialize only after `delay` (2) seconds, like a cold npx or uvx download."""

    def initialize(self, request: Request) -> Message | None:
        time.sleep(self.number("delay", 2))
        return super().initialize(request)


@mode("slow_list")
class SlowList(Server):
    """Answers tools/list only after `delay` (2) seconds, like a gateway that asks its own servers first."""

    def list_page(self, cursor: Any) -> Message | None:
        time.sleep(self.number("delay", 2))
        return super().list_page(cursor)


@mode("exit_after_init")
class ExitAfterInit(Server):
    """Answers initialize, then exits with status 4 instead of answering tools/list."""

    def list_page(self, cursor: Any) -> Message:
        complain("FATAL: cannot read the tool directory")
        self.log.leave(4)


@mode("exit_on_initialized")
class ExitOnInitialized(Server):
    """Answers initialize, then exits with status 4 on notifications/initialized."""

    def initialized(self) -> None:
        complain("FATAL: login failed")
        self.log.leave(4)


@mode("exit_mid_call")
class ExitMidCall(Server):
    """Tool `die` kills the process (SIGKILL to itself) instead of answering; a fresh process works again."""

    extra = (tool("die", "Die without an answer."),)

    def tool_die(self, request: Request, arguments: Message) -> Message:
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
        return {}


@mode("exit_half_answer")
class ExitHalfAnswer(ExitMidCall):
    """Tool `die` writes the first half of its answer, then kills the process."""

    stdio_only = True

    def tool_die(self, request: Request, arguments: Message) -> Message:
        answer = self.encode({"jsonrpc": "2.0", "id": request.id, "result": text("never seen")})
        self.channel.write(answer[: len(answer) // 2])
        return super().tool_die(request, arguments)


@mode("exit_after_call")
class ExitAfterCall(Server):
    """Answers one tools/call correctly and exits `delay` (0.05) s later: the next meets a dead server."""

    def call(self, request: Request, name: str, arguments: Any) -> Message | None:
        self.spawn(self.leave_soon)
        return super().call(request, name, arguments)

    def leave_soon(self) -> None:
        time.sleep(self.number("delay", 0.05))
        self.log.leave(0)


@mode("exit_idle")
class ExitIdle(Server):
    """Exits with status 0 when nothing arrived for `delay` (1) s, as servers behind a gateway do."""

    stdio_only = True
    last = 0.0

    def started(self) -> None:
        self.last = time.monotonic()
        self.spawn(self.watch)

    def receive(self, message: Any) -> None:
        self.last = time.monotonic()
        super().receive(message)

    def watch(self) -> None:
        limit = self.number("delay", 1)
        while time.monotonic() - self.last < limit:
            time.sleep(limit / 20)
        self.log.leave(0)
