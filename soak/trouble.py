"""What goes wrong on purpose: processes are killed, the configuration is edited, remote servers restart."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil

from mcp_bridge.bridge.thread import BridgeThread

from .callers import Callers
from .fleet import MARK_VARIABLE, SERVERS, Fleet
from .judge import Judge

KILL_SECONDS, RELOAD_SECONDS = 2.0, 15.0
"""Mean pauses between two kills, and two edits of the configuration."""
HTTP_SHARE = 0.05
"""Share of the kills that hit a server over HTTP, which ends all its sessions."""
DOWN_SECONDS = 0.5
"""How long such a server stays down."""
END_SECONDS = 90.0
"""How long a generation may take to end: its calls finish by their own limits."""
MOST_ENDING = 3
_GUARDIAN = "guardian_process.py"


class Remotes:
    """The servers over HTTP: each keeps its port, and comes back after it was killed."""

    def __init__(self, mark: str) -> None:
        self._environment = {**os.environ, MARK_VARIABLE: mark}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.ports: dict[str, int] = {}

    def start(self, name: str) -> None:
        """Start a server, at its port if it has one."""
        port = self.ports.get(name, 0)
        command = [sys.executable, str(SERVERS / "http_server.py"), "soak", f"port={port}"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=self._environment)
        assert process.stdout is not None
        with process.stdout:
            words = process.stdout.readline().split()
        self._running[name] = process
        if len(words) == 2:
            self.ports[name] = int(words[1])

    def pids(self) -> set[int]:
        return {process.pid for process in self._running.values()}

    async def keep(self) -> None:
        """Restart killed servers, until cancelled."""
        while True:
            await asyncio.sleep(DOWN_SECONDS)
            for name, process in list(self._running.items()):
                if process.poll() is not None:
                    await asyncio.to_thread(self.start, name)

    def close(self) -> None:
        for process in self._running.values():
            process.kill()
            process.wait()


class Trouble:
    """Kills and edits at random."""

    def __init__(self, judge: Judge, callers: Callers, dice: random.Random, fleet: Fleet, data_dir: Path) -> None:
        self.counts: Counter[str] = Counter()
        self.generation = 0
        self._judge = judge
        self._callers = callers
        self._dice = dice
        self._fleet = fleet
        self._data_dir = data_dir
        self._bridge: BridgeThread | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._going = asyncio.Event()
        self._going.set()

    async def kill(self, remote: Callable[[], set[int]]) -> None:
        """Kill servers and spares, until cancelled."""
        while True:
            await asyncio.sleep(self._dice.expovariate(1 / KILL_SECONDS))
            await self._going.wait()
            http = self._dice.random() < HTTP_SHARE
            victims = await asyncio.to_thread(_servers)
            victims = [one for one in victims if (one.pid in remote()) == http]
            if victims:
                with contextlib.suppress(psutil.Error):
                    self._dice.choice(sorted(victims, key=lambda one: one.pid)).kill()
                    self.counts["kills of servers over HTTP" if http else "kills of servers and spares"] += 1

    async def edit(self) -> None:
        """Reload with an edited configuration, until cancelled."""
        while True:
            await asyncio.sleep(self._dice.expovariate(1 / RELOAD_SECONDS))
            await self._going.wait()
            if len(self._ending) < MOST_ENDING:
                self.reload()

    def reload(self) -> None:
        """Begin a new generation, as a host does: the previous one gets no more calls and ends after its last."""
        config, rules = self._fleet.edited(self._dice)
        former, self._bridge = self._bridge, BridgeThread(config, data_dir=self._data_dir)
        self._bridge.start()
        self._callers.use(self._bridge, rules)
        self.generation += 1
        if former is not None:
            task = asyncio.create_task(self._end(former), name="end of a generation")
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def hold(self) -> None:
        """Do no harm until `go`; returns when there is one generation, new and ready."""
        self._going.clear()
        self.reload()
        assert self._bridge is not None
        await asyncio.wait(self._ending)
        await asyncio.to_thread(self._bridge.wait_ready, END_SECONDS)

    def go(self) -> None:
        """Go on after `hold`."""
        self._going.set()

    async def close(self) -> None:
        """End the last generation, and wait for all."""
        bridge, self._bridge = self._bridge, None
        if bridge is not None:
            await self._end(bridge)
        if self._ending:
            await asyncio.wait(self._ending)

    async def _end(self, bridge: BridgeThread) -> None:
        bridge.close_soon()
        if not await asyncio.to_thread(bridge.join, END_SECONDS):
            self._judge.late(f"a generation did not end within {END_SECONDS:g} s")


def _servers() -> list[psutil.Process]:
    """Return all processes below us but the guardians, which are no servers."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if not any(word.endswith(_GUARDIAN) for word in child.cmdline()):
                found.append(child)
    return found
