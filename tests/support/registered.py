"""Requests as a session registers them, without a session."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_bridge.transport.correlation import Correlator, Request
from mcp_bridge.transport.filter import MessageFilter

_LOOP = asyncio.new_event_loop()


def begin(requests: Correlator, method: str = "tools/call", *, sent: bool = True) -> Request:
    """Register a request under the next id, which counts from 1."""
    request = requests.begin(method, _LOOP.create_future())
    if sent:
        requests.mark_sent({"id": request.id, "method": method})
    return request


def waiting(*ids: int, method: str = "tools/call", **more: Any) -> MessageFilter:
    """Return a filter whose session waits for responses to requests with exactly these ids."""
    requests = Correlator()
    for number in range(1, max(ids, default=0) + 1):
        begin(requests, method)
        if number not in ids:
            requests.take_out(number)
    return MessageFilter(requests, **more)
