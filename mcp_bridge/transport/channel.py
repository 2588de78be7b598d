"""What a session talks through, whatever carries it: messages in, messages out."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from .framing import Message, UnreadableAnswer

KEPT_LINES = 20
"""How many of the last lines of a process's side output are kept."""
NO_HEADERS: Mapping[str, str] = {}


def _last_lines() -> deque[str]:
    return deque(maxlen=KEPT_LINES)


@dataclass(frozen=True)
class SideOutput:
    """The last lines that a process has written beside its messages: cleaned, secrets masked."""

    stderr: deque[str] = field(default_factory=_last_lines)
    stdout: deque[str] = field(default_factory=_last_lines)


class Channel(Protocol):
    """One open connection to a server."""

    side_output: SideOutput

    async def receive(self) -> Message | UnreadableAnswer | None:
        """Return the next message, a response that cannot be read, or None at the end of the connection."""

    async def send(self, message: Message, headers: Mapping[str, str] = NO_HEADERS) -> None:
        """Send a message. `headers` go with it where it is an HTTP request of its own.

        Raises `OSError` if the connection has ended.
        """

    def use_protocol_version(self, version: str) -> None:
        """Take in the version agreed on in `initialize`: over HTTP every later request must name it."""

    async def describe_end(self) -> str:
        """Return why the connection ended, for the owner and the model."""
