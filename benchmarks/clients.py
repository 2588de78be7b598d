"""The contenders as clients of one server: each can make a call and report when the result arrived."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from mcp import ClientSession

from mcp_bridge.bridge.bridge import Bridge

from . import insight
from .errors import BenchmarkError
from .handwritten import HandwrittenSession
from .plain_sdk import SdkKeeper, sdk_call, sdk_session
from .servers import Subject, config


@dataclass(frozen=True)
class Answer:
    """When an answer was there and when its session was gone, on the clock of `perf_counter`."""

    text: str
    at: float
    gone_at: float | None = None


class Client(Protocol):
    """One way to call the tools of one server."""

    label: str

    async def open(self) -> None: ...
    async def call(self) -> Answer: ...
    async def settle(self) -> None: ...
    async def close(self) -> None: ...


class BridgeClient:
    """The bridge, as a bot's owner would configure it; `keys` go into the server's entry."""

    def __init__(self, label: str, subject: Subject, data_dir: Path, **keys: Any) -> None:
        self.label = label
        self._subject = subject
        warm = keys.get("warm", 1)
        self._is_fresh = keys.get("session", "fresh") == "fresh"
        self._spares = warm if self._is_fresh else 0
        checked = config({subject.name: subject.entry(**keys)}, max_spares=max(4, warm))
        self._bridge = Bridge(checked, data_dir=data_dir)
        self._name = ""
        self._served: list[insight.Served] = []
        self.refills_missed = 0

    async def open(self) -> None:
        await self._bridge.start()
        names = [tool.name for tool in self._bridge.tools() if tool.remote_name == self._subject.tool]
        if not names:
            raise BenchmarkError(f"{self._subject.name}: {self._bridge.status()}")
        self._name = names[0]
        self._served = insight.watch_calls(self._bridge)

    async def call(self) -> Answer:
        result = await self._bridge.call(self._name, self._subject.arguments)
        at = perf_counter()
        if result.is_error:
            raise BenchmarkError(f"{self.label}: {result.text}")
        self._subject.check(result.text)
        if self._subject.tells_pid and int(result.text) not in {one.pid for one in self._served}:
            raise BenchmarkError(f"{self.label}: process {result.text} answered, but the call went to another")
        return Answer(result.text, at)

    async def settle(self) -> None:
        """Wait for the spares; make sure that each call had a process of its own, and a spare if one waited."""
        await insight.at_rest(self._bridge)
        self._check_served()
        if len(insight.spare_pids(self._bridge)) < self._spares:
            self.refills_missed += 1
            await self._bridge.call(self._name, self._subject.arguments)  # a call makes it look again
            await insight.at_rest(self._bridge, spares=self._spares)

    async def close(self) -> None:
        await self._bridge.close()

    def _check_served(self) -> None:
        """Raise `BenchmarkError` if the calls had other sessions than the label says."""
        pids = [one.pid for one in self._served]
        if not self._is_fresh and len(set(pids)) > 1:
            raise BenchmarkError(f"{self.label}: calls were answered by different processes")
        if self._is_fresh and len(set(pids)) < len(pids):
            raise BenchmarkError(f"{self.label}: two calls were answered by one process")
        if any(one.by_spare != one.spare_waited for one in self._served):
            raise BenchmarkError(f"{self.label}: a spare waited and was not used")


class SdkFresh:
    """The SDK with a session for each call."""

    label = "SDK, fresh"

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._launch = subject.launch()

    async def open(self) -> None:
        pass

    async def call(self) -> Answer:
        async with sdk_session(self._launch) as session:
            text = await sdk_call(session, self._subject.tool, self._subject.arguments)
            at = perf_counter()
        gone_at = perf_counter()
        self._subject.check(text)
        return Answer(text, at, gone_at)

    async def settle(self) -> None:
        pass

    async def close(self) -> None:
        pass


class SdkPersistent:
    """The SDK with one session for all calls."""

    label = "SDK, persistent"

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._keeper: SdkKeeper | None = None
        self._session: ClientSession | None = None

    async def open(self) -> None:
        self._keeper = SdkKeeper(self._subject.launch())
        self._session = await self._keeper.session()

    async def call(self) -> Answer:
        if self._session is None:
            raise BenchmarkError("not open")
        text = await sdk_call(self._session, self._subject.tool, self._subject.arguments)
        at = perf_counter()
        self._subject.check(text)
        return Answer(text, at)

    async def settle(self) -> None:
        pass

    async def close(self) -> None:
        if self._keeper is not None:
            await self._keeper.close()


class HandwrittenFresh:
    """The minimal client with a process for each call."""

    label = "hand-written, fresh"

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._launch = subject.launch()

    async def open(self) -> None:
        pass

    async def call(self) -> Answer:
        session = await HandwrittenSession.open(self._launch)
        try:
            text = await session.call(self._subject.tool, self._subject.arguments)
            at = perf_counter()
        finally:
            await session.close()
        self._subject.check(text)
        return Answer(text, at)

    async def settle(self) -> None:
        pass

    async def close(self) -> None:
        pass


class HandwrittenPersistent:
    """The minimal client with one process for all calls."""

    label = "hand-written, persistent"

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._session: HandwrittenSession | None = None

    async def open(self) -> None:
        self._session = await HandwrittenSession.open(self._subject.launch())

    async def call(self) -> Answer:
        if self._session is None:
            raise BenchmarkError("not open")
        text = await self._session.call(self._subject.tool, self._subject.arguments)
        at = perf_counter()
        self._subject.check(text)
        return Answer(text, at)

    async def settle(self) -> None:
        pass

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
