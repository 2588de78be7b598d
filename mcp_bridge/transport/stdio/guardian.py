"""The parent's side of the guardian process: starts it and sends it the process groups to watch.

There is one guardian per bridge, started with the first stdio server, on POSIX only: on Windows a job object
that closes with our process does the same. If it could not be started, or was killed, it is started again
with the next server.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import secrets
import subprocess
import sys
from pathlib import Path

logger = logging.getLogger(__name__)

MARKER_VARIABLE = "MCP_BRIDGE_SESSION"
"""Set in the environment of each server, so that helpers which have left its group can be found."""
_SCRIPT = Path(__file__).with_name("guardian_process.py")
_EXIT_SECONDS = 5.0
"""How long the guardian may take to end. It takes milliseconds, seconds if helpers ignore SIGTERM."""


class Guardian:
    """Ends the servers of a bridge when our own process is killed, and the helpers that a server leaves behind."""

    def __init__(self) -> None:
        self.marker = secrets.token_hex(12)
        """The common prefix of the marks of all servers of this bridge."""
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: dict[int, int] = {}
        self._numbers = itertools.count(1)
        self._warned = False

    def number(self) -> int:
        """Return the number of the next server. Its environment must hold the `mark` of that number."""
        return next(self._numbers)

    def mark(self, number: int) -> str:
        """Return the value of `MARKER_VARIABLE` for a server."""
        return f"{self.marker}-{number}"

    def watch(self, group: int, number: int) -> None:
        """End a server's process group if our process dies before `release`."""
        if sys.platform == "win32":
            return
        self._groups[group] = number
        if self._process is not None and self._process.poll() is None:
            self._send(f"+{group}\n")
        elif self._start():
            self._send("".join(f"+{one}\n" for one in self._groups))

    def release(self, group: int) -> None:
        """Forget a server that has ended, and end the helpers that it started in other groups."""
        number = self._groups.pop(group, None)
        if number is not None:
            self._send(f"-{group}\n.{number}\n")

    def close(self) -> None:
        """End the guardian, and any helper that has our marker and has outlived its server."""
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            logger.debug("the guardian process %s is still ending marked helpers", process.pid)

    def _start(self) -> bool:
        """Start the guardian; return whether that was possible."""
        if self._process is not None and self._process.stdin is not None:
            logger.debug("the guardian process has ended with status %s", self._process.returncode)
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            self._process = None
        # -I -S: nothing of the bot's Python environment is imported, so it starts in milliseconds.
        command = [sys.executable, "-I", "-S", str(_SCRIPT), str(os.getpid()), f"{MARKER_VARIABLE}={self.marker}"]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=os.sep,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            level = logging.DEBUG if self._warned else logging.WARNING
            logger.log(level, "servers may outlive a killed bot: the guardian process cannot be started: %s", error)
            self._warned = True
            return False
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
        return True

    def _send(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            try:
                self._process.stdin.write(line.encode())
            except OSError as error:
                logger.debug("the guardian process no longer reads its input: %s", error)
