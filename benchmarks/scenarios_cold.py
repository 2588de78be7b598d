"""A cold call of the bridge beside one by hand, many times: a few hundredths are lost among few samples."""

from __future__ import annotations

from collections.abc import AsyncIterator

from .clients import BridgeClient, Client, HandwrittenFresh
from .options import Options
from .report import Ratio, Section, ratio_goals, ratio_table, time_table
from .scenarios_calls import COLD, TITLES, SingleCall
from .servers import calculator, minimal
from .timing import interleave

LIMIT = 1.05
"""The time to the answer, against the same by hand."""
TIMES, MANY_TIMES = 2, 12
"""Rounds in multiples of the usual: single samples differ by a tenth and more, one of a small server costs little."""


async def cold(options: Options) -> AsyncIterator[Section]:
    """Measure a cold call on each server."""
    others = [(subject, TIMES) for subject in (calculator(), *options.node.all)]
    for subject, times in [(minimal(), MANY_TIMES), *others]:
        rounds = times * options.rounds
        clients: list[Client] = [
            BridgeClient(COLD, subject, options.data_dir("cold"), warm=0),
            HandwrittenFresh(subject),
        ]
        options.progress.begin(f"a cold call: {subject.name}", len(clients) * (rounds + 1))
        series = await interleave([SingleCall(one) for one in clients], rounds, options.progress.advance)
        series = {one.label: series[one.label] for one in clients}
        ratios = [Ratio(COLD, HandwrittenFresh.label, LIMIT)]
        tables = (time_table("Time to the answer", series), ratio_table("Ratio", series, ratios))
        title = f"A cold call: {TITLES[subject.name]}"
        yield Section(title, tables, ratio_goals(f"a cold call, {subject.name}", series, ratios))
