"""The only module that looks inside a bridge: which sessions it has, and whether it is at rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from mcp_bridge.bridge.bridge import Bridge

from .errors import BenchmarkError

REST_SECONDS = 60.0
POLL_SECONDS = 0.005


@dataclass(frozen=True)
class Served:
    """Which process a call was given, whether that was a spare, and whether one waited when it began."""

    pid: int
    by_spare: bool
    spare_waited: bool


def _sessions(bridge: Bridge) -> list[Any]:
    return [server.sessions for server in bridge._servers.servers.values()]


def _pid(session: Any) -> int:
    return cast(int, session._channel._process.pid)


def _spare_pids(sessions: Any) -> list[int]:
    return [_pid(spare) for spare in getattr(sessions, "spares", ()) if spare.alive]


def spare_pids(bridge: Bridge) -> list[int]:
    """Return the process ids of all spares that a call could use now."""
    return [pid for one in _sessions(bridge) for pid in _spare_pids(one)]


def open_sessions(bridge: Bridge) -> int:
    """Return how many sessions exist, in any state."""
    return sum(len(one._pool._live) for one in _sessions(bridge))


def watch_calls(bridge: Bridge) -> list[Served]:
    """Return a list to which is added for each call by which process it is served."""
    served: list[Served] = []
    for sessions in _sessions(bridge):
        sessions.lease = _watched(sessions, sessions.lease, served)
    return served


def _watched(sessions: Any, lease: Any, served: list[Served]) -> Any:
    @asynccontextmanager
    async def watched(*request: Any) -> AsyncIterator[Any]:
        waiting = _spare_pids(sessions)
        async with lease(*request) as session:
            pid = _pid(session)
            served.append(Served(pid, pid in waiting, bool(waiting)))
            yield session

    return watched


def _is_busy(sessions: Any) -> bool:
    """Tell whether sessions are being opened or closed, or a tool list is being read, now."""
    if getattr(sessions, "refilling", False):
        return True
    spares = getattr(sessions, "spares", None)
    return any(not one.alive or (spares is not None and one not in spares) for one in sessions._pool._live)


async def at_rest(bridge: Bridge, *, spares: int | None = None, seconds: float = REST_SECONDS) -> None:
    """Wait until no session is being opened or closed and, if given, this many spares wait.

    Raises `BenchmarkError` after `seconds`.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    while any(map(_is_busy, _sessions(bridge))) or (spares is not None and len(spare_pids(bridge)) < spares):
        if asyncio.get_running_loop().time() > deadline:
            state = f"{len(spare_pids(bridge))} spares of {spares} and {open_sessions(bridge)} sessions"
            raise BenchmarkError(f"the bridge does not come to rest: {state} after {seconds:g} s")
        await asyncio.sleep(POLL_SECONDS)


def marker(bridge: Bridge) -> str:
    """Return what every process below this bridge carries in its environment."""
    return bridge._guardian.marker
