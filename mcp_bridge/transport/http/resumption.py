"""Requests whose answer may still come on another stream, after theirs has ended (specification: "Resumability").

A stream that has named an event may end before the answer; the SDK then asks with GET and that event's id
for the rest. If the server cannot be reached any more, the SDK 1.x leaves its caller waiting and 2.x
makes an error of its own. So the SDK is given names of ours for events, by which we know for whom it asks.
"""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass
from typing import Any

ATTEMPTS = 2
"""How often the SDK asks for the rest of a stream before it gives up."""


@dataclass(frozen=True)
class Waiting:
    """The JSON-RPC request that an HTTP request carries."""

    id: Any
    method: str


@dataclass
class Resumption:
    """A request, the last event of its stream as the server named it, and how often asking for the rest has failed."""

    name: str
    waiting: Waiting
    event_id: str = ""
    failures: int = 0


class Resumptions:
    """The requests of one session whose streams have named an event and not brought the answer."""

    def __init__(self) -> None:
        self._mark = f"mcp-bridge-{secrets.token_hex(8)}"  # no event of a server is called that
        self._numbers = itertools.count(1)
        self._open: dict[str, Resumption] = {}

    def new(self, waiting: Waiting) -> Resumption:
        """Return what a stream tells its progress to; nothing is kept of it before `note`."""
        return Resumption(f"{self._mark}-{next(self._numbers)}", waiting)

    def note(self, resumption: Resumption, event_id: str) -> None:
        """Remember the last event of a stream."""
        resumption.event_id, resumption.failures = event_id, 0
        self._open[resumption.name] = resumption

    def close(self, resumption: Resumption) -> None:
        """Forget a request that has its answer."""
        self._open.pop(resumption.name, None)

    def find(self, name: str | None) -> Resumption | None:
        """Return what the SDK asks for with that `Last-Event-ID`."""
        return self._open.get(name or "")
