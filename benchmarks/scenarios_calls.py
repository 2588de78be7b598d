"""One call at a time, and bursts of calls at once, on each server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from time import perf_counter

from .clients import (
    BridgeClient,
    Client,
    HandwrittenFresh,
    HandwrittenPersistent,
    SdkFresh,
    SdkPersistent,
)
from .options import Options
from .report import Ratio, Section, ratio_goals, ratio_table, time_table
from .servers import calculator, minimal
from .timing import interleave

BURST = 8
SPARE = "bridge, fresh, a spare ready"
COLD = "bridge, fresh, cold (warm = 0)"
SHARED = "bridge, shared"
WARM_BURST = f"bridge, fresh, {BURST} spares ready"
WITH_END = ", with tear-down"
SPARE_LIMIT = 1.3
"""A fresh call on a spare, against a call on a persistent session of the SDK."""
NOTES = (
    "Each fresh call of the bridge had a process of its own, and a spare where one was to be ready; this is checked.",
    "The SDK's `call_tool` on a new session sends a `tools/list` of its own after the answer, and waits for it.",
)
TITLES = {
    "python": "Python server made with the SDK (examples/calculator_server.py)",
    "minimal": "minimal server, standard library only (tests/servers/odd_server.py normal)",
    "node": "node server-everything",
    "npx": "node server-everything through npx -y",
}


class SingleCall:
    """One call; the time to its answer, and for the SDK's fresh session also to its end."""

    def __init__(self, client: Client) -> None:
        self.label = client.label
        self.open, self.settle, self.close = client.open, client.settle, client.close
        self._client = client

    async def sample(self) -> dict[str, float]:
        await self.settle()  # a server may have sent `list_changed` in the meantime
        began = perf_counter()
        answer = await self._client.call()
        measured = {self.label: answer.at - began}
        if answer.gone_at is not None:
            measured[self.label + WITH_END] = answer.gone_at - began
        return measured


class Burst:
    """Several calls at once; the time until the last answer is there."""

    def __init__(self, client: Client) -> None:
        self.label = client.label
        self.open, self.settle, self.close = client.open, client.settle, client.close
        self._client = client

    async def sample(self) -> dict[str, float]:
        await self.settle()
        began = perf_counter()
        answers = await asyncio.gather(*(self._client.call() for _ in range(BURST)))
        return {self.label: max(answer.at for answer in answers) - began}


async def calls(options: Options) -> AsyncIterator[Section]:
    """Measure a call on each server."""
    node = [(subject, options.some_rounds) for subject in options.node.all]
    for subject, rounds in [(calculator(), options.rounds), (minimal(), options.many_rounds), *node]:
        clients: list[Client] = [
            BridgeClient(SPARE, subject, options.data_dir("spare")),
            BridgeClient(COLD, subject, options.data_dir("cold"), warm=0),
            BridgeClient(SHARED, subject, options.data_dir("shared"), session="shared"),
            SdkFresh(subject),
            SdkPersistent(subject),
            HandwrittenFresh(subject),
            HandwrittenPersistent(subject),
        ]
        options.progress.begin(f"a call: {subject.name}", len(clients) * (rounds + 1))
        series = await interleave([SingleCall(one) for one in clients], rounds, options.progress.advance)
        series = {label: series[label] for label in _in_order(clients) if label in series}
        python = subject.name == "python"
        ratios = [
            Ratio(SPARE, SdkPersistent.label, SPARE_LIMIT if python else None),
            Ratio(SPARE, HandwrittenPersistent.label),
            Ratio(SPARE, SdkFresh.label),
            Ratio(SHARED, SdkPersistent.label),
            Ratio(COLD, HandwrittenFresh.label),
            Ratio(COLD, SdkFresh.label),
        ]
        title = f"A call: {TITLES[subject.name]}"
        tables = (time_table("Time to the answer", series), ratio_table("Ratios", series, ratios))
        yield Section(title, tables, ratio_goals(f"a call, {subject.name}", series, ratios), NOTES)


async def bursts(options: Options) -> AsyncIterator[Section]:
    """Measure bursts of calls on two servers."""
    for subject in (calculator(), minimal()):
        spare = BridgeClient("bridge, fresh, a spare ready", subject, options.data_dir("spare"))
        clients: list[Client] = [
            spare,
            BridgeClient(WARM_BURST, subject, options.data_dir("warm"), warm=BURST, max_sessions=3 * BURST),
            BridgeClient(COLD, subject, options.data_dir("cold"), warm=0),
            BridgeClient(SHARED, subject, options.data_dir("shared"), session="shared"),
            SdkFresh(subject),
            SdkPersistent(subject),
            HandwrittenFresh(subject),
            HandwrittenPersistent(subject),
        ]
        rounds = options.slow_rounds if subject.name == "python" else options.some_rounds
        options.progress.begin(f"bursts: {subject.name}", len(clients) * (rounds + 1))
        series = await interleave([Burst(one) for one in clients], rounds, options.progress.advance)
        series = {one.label: series[one.label] for one in clients}
        ratios = [
            Ratio(WARM_BURST, SdkPersistent.label),
            Ratio(SHARED, SdkPersistent.label),
            Ratio(COLD, HandwrittenFresh.label),
            Ratio(COLD, SdkFresh.label),
        ]
        title = f"A burst of {BURST} calls: {TITLES[subject.name]}"
        tables = (time_table("Time to the last answer", series), ratio_table("Ratios", series, ratios))
        note = f"After {spare.refills_missed} of {rounds + 1} bursts, no spare was made until the next call."
        yield Section(title, tables, notes=(note,))


def _in_order(clients: list[Client]) -> list[str]:
    return [label for one in clients for label in (one.label, one.label + WITH_END)]
