"""The log that a misbehaving server keeps: what reached it, and when it started and ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.processes import alive


class ServerLog:
    """Reads the events of all processes that write to one file; see `Log` in `tests/servers/wire.py`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def events(self, *names: str) -> list[dict[str, Any]]:
        """Return the events of these names, all of them without any, in order."""
        if not self.path.exists():
            return []
        found = [json.loads(line) for line in self.path.read_text("utf-8").splitlines()]
        return [event for event in found if not names or event["event"] in names]

    def received(self, method: str = "") -> list[dict[str, Any]]:
        """Return the client's messages of a method; all of them, answers too, without one."""
        messages = [event["message"] for event in self.events("recv")]
        return [message for message in messages if not method or message.get("method") == method]

    def calls(self, tool: str) -> list[dict[str, Any]]:
        """Return the `tools/call` requests for a tool."""
        return [call for call in self.received("tools/call") if call["params"]["name"] == tool]

    def starts(self) -> int:
        return len(self.events("start"))

    def pids(self) -> set[int]:
        """Return every process that was started, helpers included."""
        return {event["pid"] for event in self.events("start", "child")}

    def running(self) -> set[int]:
        """Return those that live."""
        return {pid for pid in self.pids() if alive(pid)}


def starts(log: Path) -> list[int]:
    """Return the process ids of all servers started so far, in order."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [event["pid"] for event in map(json.loads, lines) if event["event"] == "start"]


def running(log: Path) -> int:
    return sum(map(alive, starts(log)))
