"""The test's end of the wire to driver.py: one JSON object a line, commands out, answers back."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

ANSWER_SECONDS = 60.0
"""How long a command may take, unless the test says otherwise."""
READER_SECONDS = 10.0
"""How long the reading thread may take to end with its host."""


class HostError(RuntimeError):
    """The host did not do what it was told; the message ends with its log."""


class DriverWire:
    """Carries commands of several threads at once, each of which waits for its own answer."""

    def __init__(self, end: socket.socket, log_tail: Callable[[], str]) -> None:
        self._socket = end
        self._log_tail = log_tail
        self._answers: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        self._sent = 0
        self._reader = threading.Thread(target=self._read_answers, name="maibot-answers", daemon=True)
        self._reader.start()

    def command(self, command: str, seconds: float = ANSWER_SECONDS, **arguments: object) -> Any:
        """Have the driver do something; return its answer, or raise HostError when it fails or is late."""
        answer: Future[Any] = Future()
        with self._lock:
            self._sent += 1
            number = self._sent
            self._answers[number] = answer
            line = json.dumps({"id": number, "command": command, "arguments": arguments}).encode() + b"\n"
            try:
                self._socket.sendall(line)
            except OSError as error:
                raise HostError(f"the host has gone: {error}\n{self._log_tail()}") from error
        try:
            return answer.result(seconds)
        except TimeoutError as error:
            raise HostError(f"no answer to {command} within {seconds} s\n{self._log_tail()}") from error

    def hang_up(self) -> None:
        """Tell the driver that no more commands will come: it then stops the host."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Let go of the wire when the host has ended."""
        self._reader.join(READER_SECONDS)
        self._socket.close()

    def _read_answers(self) -> None:
        """Hand each answer to the thread that waits for it, until the host ends."""
        with self._socket.makefile("rb") as stream:
            try:
                for line in stream:
                    answer = json.loads(line)
                    waiting = self._answers.pop(answer["id"])
                    if "error" in answer:
                        waiting.set_exception(HostError(answer["error"]))
                    else:
                        waiting.set_result(answer["value"])
            except OSError:
                pass  # A killed host resets the connection: the same end.
        with self._lock:
            for waiting in self._answers.values():
                waiting.set_exception(HostError(f"the host has ended\n{self._log_tail()}"))
            self._answers.clear()
