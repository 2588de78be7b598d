"""Modes about processes: who is started, who survives, who ignores the request to end."""

from __future__ import annotations

import os
import signal
import sys
import time

from base import STRING, Server, as_json, mode, text, tool
from wire import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

    from base import Request
    from wire import Message

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "odd_server.py")
HELPER = "import signal, time\nfor s in {ignored}: signal.signal(s, signal.SIG_IGN)\ntime.sleep({seconds})"


def helper_command(seconds: float, ignored: tuple[int, ...]) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", HELPER.format(seconds=seconds, ignored=ignored)]


def sleep_for_ever() -> None:
    while True:
        time.sleep(3600)


@mode("env_report")
class EnvReport(Server):
    """Tools `env` (the whole environment), `argv`, `fds` as JSON, `cwd`: what was really passed."""

    extra = (
        tool("env", "Return the environment."),
        tool("argv", "Return the argument vector."),
        tool("cwd", "Return the working directory."),
        tool("fds", "Return the open file descriptors (Linux)."),
    )

    def tool_env(self, request: Request, arguments: Message) -> Message:
        return text(as_json(dict(os.environ)))

    def tool_argv(self, request: Request, arguments: Message) -> Message:
        return text(as_json(sys.argv))

    def tool_cwd(self, request: Request, arguments: Message) -> Message:
        return text(os.getcwd())

    def tool_fds(self, request: Request, arguments: Message) -> Message:
        found = {}
        for name in os.listdir("/proc/self/fd"):
            try:
                found[name] = os.readlink("/proc/self/fd/" + name)
            except OSError:  # the descriptor of the listing itself is closed by now
                continue
        return text(as_json(found))


@mode("ignore_eof")
class IgnoreEof(Server):
    """Ignores the end of stdin (as Node servers with an open timer or socket do), dies on SIGTERM."""

    stdio_only = True

    def eof(self) -> None:
        sleep_for_ever()


@mode("ignore_stdin_close")
class IgnoreEverything(IgnoreEof):
    """Ignores the end of stdin, SIGTERM, SIGINT and SIGHUP: only SIGKILL ends it."""

    def signalled(self, number: int) -> None:
        pass


@mode("slow_sigterm")
class SlowSigterm(IgnoreEof):
    """Ignores the end of stdin; on SIGTERM takes `delay` s (1) to clean up, then exits with status 0."""

    def signalled(self, number: int) -> None:
        time.sleep(self.number("delay", 1))
        self.log.leave(0)


@mode("slow_eof")
class SlowEof(Server):
    """Needs `delay` s (1.5) after the end of stdin (flushing a database, say), then exits with status 0."""

    stdio_only = True

    def eof(self) -> None:
        time.sleep(self.number("delay", 1.5))
        self.log.leave(0)


@mode("talks_after_eof")
class TalksAfterEof(Server):
    """Writes notifications and noise on stdout after the end of stdin, then exits with status 1."""

    stdio_only = True

    def eof(self) -> None:
        for _ in range(20):
            self.notify("notifications/message", {"level": "info", "data": "shutting down"})
            self.channel.write(b"bye\n")
            time.sleep(0.02)
        self.log.leave(1)


@mode("busy_loop")
class BusyLoop(Server):
    """Ignores the end of stdin and burns a processor instead."""

    stdio_only = True

    def eof(self) -> None:
        while True:
            pass


@mode("stopped")
class Stopped(Server):
    """Tool `freeze` stops the process (SIGSTOP): it answers nothing and cannot act on SIGTERM any more."""

    stdio_only = True
    extra = (tool("freeze", "Stop this process."),)

    def tool_freeze(self, request: Request, arguments: Message) -> Message:
        os.kill(os.getpid(), signal.SIGSTOP)
        return text("thawed")


@mode("wrapper")
class Wrapper(Server):
    """Like npx or uvx: a launcher whose child (`child`=ignore_eof) is the server; forwards no signals."""

    stdio_only = True
    own_session = False

    def started(self) -> None:
        import subprocess

        options = [f"{key}={value}" for key, value in self.options.items() if key != "child"]
        command = [sys.executable, SCRIPT, self.options.get("child", "ignore_eof"), *options]
        child = subprocess.Popen(command, start_new_session=self.own_session)
        self.log("child", pid=child.pid, parent=os.getpid())
        self.log.leave(child.wait())


@mode("wrapper_setsid")
class WrapperSetsid(Wrapper):
    """A launcher whose child, the real server, lives in a session and process group of its own."""

    own_session = True


@mode("wrapper_shell")
class WrapperShell(Server):
    """Like a start script: `sh -c` keeps a shell between the client and the real server (`child`)."""

    stdio_only = True

    def started(self) -> None:
        options = [f"{key}={value}" for key, value in self.options.items() if key != "child"]
        command = [sys.executable, SCRIPT, self.options.get("child", "ignore_eof"), *options]
        os.execvp("/bin/sh", ["sh", "-c", '"$@"; exit $?', "sh", *command])


@mode("grandchild")
class Grandchild(Server):
    """Starts a helper (`seconds`=120) that inherits all pipes; exits itself at EOF, the helper stays."""

    stdio_only = True
    ignored: ClassVar[tuple[int, ...]] = (1, 2)  # the helper does not mind SIGHUP and SIGINT

    def started(self) -> None:
        self.start_helper()

    def start_helper(self) -> None:
        import subprocess

        helper = subprocess.Popen(helper_command(self.number("seconds", 120), self.ignored))
        self.log("child", pid=helper.pid, parent=os.getpid())


@mode("grandchild_stubborn")
class GrandchildStubborn(Grandchild):
    """Starts such a helper, and the helper ignores SIGTERM too: only SIGKILL ends it."""

    ignored = (1, 2, 15)


@mode("grandchild_on_call")
class GrandchildOnCall(Grandchild):
    """Starts such a helper only during tool `spawn` (as browser and language servers do)."""

    extra = (tool("spawn", "Start a helper process."),)

    def started(self) -> None:
        pass

    def tool_spawn(self, request: Request, arguments: Message) -> Message:
        self.start_helper()
        return text("started")


@mode("grandchild_exit")
class GrandchildExit(Grandchild):
    """Starts such a helper, and tool `die` ends the server: the helper holds its stdout open."""

    extra = (tool("die", "Exit with status 9."),)

    def tool_die(self, request: Request, arguments: Message) -> Message:
        self.log.leave(9)


@mode("daemon_helper")
class DaemonHelper(Grandchild):
    """Double-forks a helper into its own session (setsid), with the server's stdin, stdout and stderr."""

    keep_pipes = True

    def start_helper(self) -> None:
        first = os.fork()
        if first:
            os.waitpid(first, 0)
            return
        os.setsid()
        second = os.fork()
        if second:
            self.log("child", pid=second, parent=os.getpid())
            os._exit(0)
        if not self.keep_pipes:
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
        command = helper_command(self.number("seconds", 120), self.ignored)
        os.execv(command[0], command)


@mode("daemon_silent")
class DaemonSilent(DaemonHelper):
    """Double-forks a helper into its own session that has closed all pipes: nothing ties it to the server."""

    keep_pipes = False


@mode("close_stdin")
class CloseStdin(Server):
    """Tool `deaf` closes the server's stdin but keeps it running: the client's next write breaks."""

    stdio_only = True
    extra = (tool("deaf", "Close stdin.", {"text": STRING}),)

    def tool_deaf(self, request: Request, arguments: Message) -> Message:
        os.close(0)
        self.respond(request, result=text("closed stdin"))
        sleep_for_ever()
        return {}


@mode("close_stdout")
class CloseStdout(Server):
    """Tool `mute` closes the server's stdout but keeps it running and reading."""

    stdio_only = True
    extra = (tool("mute", "Close stdout."),)

    def tool_mute(self, request: Request, arguments: Message) -> None:
        complain("closing stdout")
        os.close(1)
