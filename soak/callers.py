"""The chats: each makes random calls and hands their outcomes to the judge."""

from __future__ import annotations

import asyncio
import itertools
import random
from typing import Any

from mcp_bridge.bridge.thread import BridgeThread

from .fleet import Fleet, Rules
from .judge import Call, Judge
from .load import Load

WEIGHTS = {
    "tell": 60,
    "slow": 12,
    "big": 5,
    "fail": 4,
    "refuse": 4,
    "more": 3,
    "change": 2,
    "hang": 2,
    "die": 2,
    "help": 1,
}
"""How often each tool is called, relative to the others."""
CANCEL_SHARE = 0.05
SLOW_SECONDS, BIG_CHARS = 2.6, 400_000
"""Upper bounds: some slow calls exceed their limit, some big results are not parsed by the SDK."""
POLL_SECONDS = 0.05
END_SECONDS = 60.0
"""No call may take longer: its own limits are far shorter."""


class Callers:
    """Makes the calls of all chats. `use` says which generation takes the next ones."""

    def __init__(self, judge: Judge, load: Load, dice: random.Random, mark: str) -> None:
        self._judge = judge
        self._load = load
        self._dice = dice
        self._names = Fleet.names()
        self._mark = mark
        self._numbers = itertools.count(1)
        self._bridge: BridgeThread | None = None
        self._rules = Rules()
        self._stopping = False
        self._going = asyncio.Event()
        self._going.set()
        self._running = 0

    def use(self, bridge: BridgeThread, rules: Rules) -> None:
        """Make all further calls with this generation."""
        self._bridge, self._rules = bridge, rules

    def stop(self) -> None:
        """Begin no further call."""
        self._stopping = True
        self._going.set()

    async def hold(self) -> None:
        """Begin no further call until `go`; returns when none is running."""
        self._going.clear()
        while self._running:
            await asyncio.sleep(POLL_SECONDS)

    def go(self) -> None:
        """Go on after `hold`."""
        self._going.set()

    async def run(self, chats: int) -> None:
        """Call until `stop`; returns when the last call has ended."""
        kinds = ("group", "group", "group", "private")
        names = [f"qq:{kinds[number % len(kinds)]}:{number}" for number in range(chats)]
        await asyncio.gather(*(self._chat(name) for name in names))

    async def _chat(self, chat: str) -> None:
        while not self._stopping:
            await asyncio.sleep(self._dice.expovariate(1 / self._load.pause))
            await self._going.wait()
            if self._stopping:
                return
            at_once = self._dice.choice((1, 1, 1, 1, 2, 3))
            self._running += at_once
            await asyncio.gather(*(self._call(chat) for _ in range(at_once)))
            self._running -= at_once

    async def _call(self, chat: str) -> None:
        bridge = self._bridge
        assert bridge is not None
        server = self._dice.choice(list(self._names))
        tool = self._dice.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        if tool == "help" and server.endswith("_http"):
            tool = "tell"  # the bridge does not start that server, so it does not end its helpers
        token = f"soak-{self._mark}-{next(self._numbers)}"
        call = Call(server, self._names[server], tool, chat, token, self._rules)
        arguments = {"token": token, "chat": chat, **self._more(tool)}
        task = asyncio.ensure_future(bridge.call(f"mcp_{server}_{tool}", arguments, chat=chat))
        cancels = self._dice.random() < CANCEL_SHARE
        if cancels:
            await asyncio.wait({task}, timeout=self._dice.random() * 0.3)
            task.cancel()
        await asyncio.wait({task}, timeout=END_SECONDS)
        self._hand_over(call, task, cancels)

    def _hand_over(self, call: Call, task: asyncio.Future[Any], cancels: bool) -> None:
        if not task.done():
            self._judge.late(f"{call.tool} of {call.server} did not end within {END_SECONDS:g} s")
            task.cancel()
        elif task.cancelled():
            self._judge.cancelled()
            if not cancels:
                self._judge.fault(f"{call.tool} of {call.server} was cancelled, but not by its caller")
        elif (error := task.exception()) is not None:
            self._judge.failed(call, error)
        else:
            self._judge.answered(call, task.result())

    def _more(self, tool: str) -> dict[str, Any]:
        """Return the further arguments of a tool."""
        match tool:
            case "slow":
                return {"seconds": self._dice.random() * SLOW_SECONDS}
            case "big":
                return {"size": self._dice.randrange(BIG_CHARS)}
            case "die":
                return {"how": self._dice.choice(("kill", "exit", "half"))}
            case _:
                return {}
