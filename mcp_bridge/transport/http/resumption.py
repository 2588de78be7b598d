"""Requests whose response may still arrive on another event stream (specification: "Resumability").

A stream whose events have ids may end before the response; the SDK then asks for the rest with a GET and the
last id. If that GET fails, SDK 1.x leaves its caller waiting and 2.x reports an error of its own. The SDK is
therefore given event ids of ours, which identify the request that it asks for.
"""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass

from .messages import PendingRequest

ATTEMPTS = 2
"""How often the SDK asks for the rest of a stream before it gives up."""


@dataclass
class Resumption:
    """A request, the last event id of its stream, and how many GETs for the rest have failed since.

    `name` is the event id that the SDK is given instead of the server's own.
    """

    name: str
    pending: PendingRequest
    event_id: str = ""
    failures: int = 0


class Resumptions:
    """The resumable requests of one session: those whose streams have sent an event id but no response yet."""

    def __init__(self) -> None:
        self._mark = f"mcp-bridge-{secrets.token_hex(8)}"  # no server uses such an event id by accident
        self._numbers = itertools.count(1)
        self._open: dict[str, Resumption] = {}

    def new(self, pending: PendingRequest) -> Resumption:
        """Return the resumption state of a new stream. It can be found only after `note`."""
        return Resumption(f"{self._mark}-{next(self._numbers)}", pending)

    def note(self, resumption: Resumption, event_id: str) -> None:
        """Remember the last event id of a stream."""
        resumption.event_id, resumption.failures = event_id, 0
        self._open[resumption.name] = resumption

    def close(self, resumption: Resumption) -> None:
        """Forget a request that has its response."""
        self._open.pop(resumption.name, None)

    def find(self, name: str | None) -> Resumption | None:
        """Return the request that a `Last-Event-ID` of the SDK refers to."""
        return self._open.get(name or "")
