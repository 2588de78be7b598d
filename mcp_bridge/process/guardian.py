"""The parent's side of the guardian: who tells it which process groups to watch.

One guardian per bridge, started with the first stdio server, POSIX only: on Windows a
job object that closes with our process does the same.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import subprocess
import sys
from pathlib import Path

logger = logging.getLogger(__name__)

MARKER_VARIABLE = "MCP_BRIDGE_SESSION"
"""Set in every server's environment, so that helpers which left its group are still found."""
_SCRIPT = Path(__file__).with_name("guardian_process.py")
_EXIT_SECONDS = 2.0


class Guardian:
    """Ends this bridge's servers when our own process is killed."""

    def __init__(self) -> None:
        self.marker = secrets.token_hex(12)
        self._process: subprocess.Popen[bytes] | None = None
        self._failed = sys.platform == "win32"

    def watch(self, group: int) -> None:
        """Have a process group ended if our process dies before `release`."""
        if self._process is None and not self._failed:
            self._start()
        self._tell(f"+{group}\n")

    def release(self, group: int) -> None:
        """Forget a process group that has ended."""
        self._tell(f"-{group}\n")

    def close(self) -> None:
        """End the guardian, and with it any helper that carries our marker and outlived its server."""
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            logger.debug("the guardian process %s is still ending marked helpers", process.pid)

    def _start(self) -> None:
        # -I -S: nothing of the bot's Python environment is imported, so it starts in milliseconds.
        command = [sys.executable, "-I", "-S", str(_SCRIPT), str(os.getpid()), self._environment_entry()]
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
            if self._process.stdin is not None:
                os.set_blocking(self._process.stdin.fileno(), False)
        except OSError as error:
            self._failed = True
            logger.warning("servers may outlive a killed bot: cannot start the guardian: %s", error)

    def _environment_entry(self) -> str:
        return f"{MARKER_VARIABLE}={self.marker}"

    def _tell(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            try:
                self._process.stdin.write(line.encode())
            except OSError as error:
                logger.debug("the guardian does not listen any more: %s", error)
