"""Statistics of calls: the latest ones, and counts, failures and durations of each tool."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ..config.rules import Caller
from ..tools.names import ToolId

Outcome = Literal["ok", "tool_error", "denied", "unavailable", "timeout", "cancelled", "failed"]
"""`tool_error`: the tool reported a failure; `failed`: an unexpected exception."""

KEPT_CALLS = 200
KEPT_TIMES = 100
"""Latest durations of each tool that the median is computed from."""
KEPT_HOURS = 48


@dataclass(frozen=True)
class CallRecord:
    """One call. `at` is a Unix time; `sent` and `text` are characters of JSON and text, `media` is bytes."""

    at: float
    server: str
    tool: str
    caller: Caller
    seconds: float
    outcome: Outcome
    sent: int = 0
    text: int = 0
    media: int = 0
    error: str = ""


@dataclass
class Figures:
    """Counts of a tool or server. Denied calls are not among `calls`: the server has not seen them."""

    calls: int = 0
    failures: int = 0
    denied: int = 0
    last_error: str = ""
    times: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT_TIMES))

    @property
    def median_seconds(self) -> float | None:
        """The median duration of the latest successful calls, None without any."""
        if not self.times:
            return None
        from statistics import median  # late: it takes 5 ms of a bot's start

        return median(self.times)

    def add(self, record: CallRecord) -> None:
        if record.outcome == "denied":
            self.denied += 1
            return
        self.calls += 1
        if record.outcome == "ok":
            self.times.append(record.seconds)
        else:
            self.failures += 1
            self.last_error = record.error or self.last_error


class CallStats:
    """The statistics of one bridge since its start; of bounded size.

    Written on the bridge's loop. May be read from any thread: each method copies in one step.
    """

    def __init__(self) -> None:
        self._recent: deque[CallRecord] = deque(maxlen=KEPT_CALLS)
        self._tools: dict[ToolId, Figures] = {}
        self._servers: dict[str, Figures] = {}
        self._hours: Counter[int] = Counter()

    def add(self, record: CallRecord) -> None:
        """Count a call."""
        self._recent.append(record)
        self._tools.setdefault(ToolId(record.server, record.tool), Figures()).add(record)
        self._servers.setdefault(record.server, Figures()).add(record)
        hour = int(record.at // 3600)
        self._hours[hour] += 1
        for old in [one for one in self._hours if one <= hour - KEPT_HOURS]:
            del self._hours[old]

    def to_json(self) -> dict[str, Any]:
        """Return the counts for `restore`; single calls and their callers are left out."""
        return {
            "tools": [
                [tool.server, tool.remote_name, asdict(figures) | {"times": list(figures.times)}]
                for tool, figures in self._tools.items()
            ],
            "servers": [[key, asdict(one) | {"times": list(one.times)}] for key, one in self._servers.items()],
            "hours": list(self._hours.items()),
        }

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Continue with the counts that `to_json` returned.

        Raises `TypeError`, `ValueError` or `KeyError` for anything else, and changes nothing then.
        """
        tools = {ToolId(server, tool): _figures(counts) for server, tool, counts in stored["tools"]}
        servers = {server: _figures(counts) for server, counts in stored["servers"]}
        hours = Counter({int(hour): int(count) for hour, count in stored["hours"]})
        self._tools, self._servers, self._hours = tools, servers, hours

    def recent(self) -> list[CallRecord]:
        """Return the latest calls, newest first."""
        return list(reversed(self._recent))

    def tool(self, server: str, remote_name: str) -> Figures:
        """Return the figures of a tool."""
        return self._tools.get(ToolId(server, remote_name), Figures())

    def server(self, name: str) -> Figures:
        """Return the figures of a server."""
        return self._servers.get(name, Figures())

    def per_hour(self, now: float, hours: int = 24) -> list[tuple[float, int]]:
        """Return the number of calls in each of the last hours, as (Unix time of its start, count), oldest first."""
        last = int(now // 3600)
        return [(hour * 3600.0, self._hours[hour]) for hour in range(last - hours + 1, last + 1)]


def _figures(counts: Mapping[str, Any]) -> Figures:
    numbers = {name: int(counts[name]) for name in ("calls", "failures", "denied")}
    times = deque(map(float, counts["times"]), maxlen=KEPT_TIMES)
    return Figures(**numbers, last_error=str(counts["last_error"]), times=times)
