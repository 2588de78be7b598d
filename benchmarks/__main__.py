"""`python -m benchmarks`: run the scenarios, print the tables, write RESULTS.md."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from .errors import BenchmarkError
from .machine import Machine
from .options import Options
from .progress import Progress
from .report import Report, Section
from .scenarios_calls import bursts, calls
from .scenarios_cold import cold
from .scenarios_discovery import discovery
from .scenarios_leaks import leaks
from .scenarios_memory import memory
from .scenarios_start import start
from .servers import CACHE, node_subjects

PARTIAL = CACHE / "partial.md"
RESULTS = Path(__file__).with_name("RESULTS.md")
ROUNDS, QUICK_ROUNDS = 30, 5
SCENARIOS: dict[str, Callable[[Options], AsyncIterator[Section]]] = {
    "calls": calls,
    "cold": cold,
    "bursts": bursts,
    "discovery": discovery,
    "start": start,
    "memory": memory,
    "leaks": leaks,
}


def parse(words: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure the bridge beside the plain SDK."
    )
    parser.add_argument("--quick", action="store_true", help=f"a smoke test with {QUICK_ROUNDS} rounds")
    parser.add_argument("--rounds", type=int, help=f"samples of each contender (default {ROUNDS})")
    parser.add_argument("--only", choices=SCENARIOS, action="append", help="run this scenario alone (may be repeated)")
    parser.add_argument(
        "--output", type=Path, help="where to write the report (default: RESULTS.md after a full run, else .cache/)"
    )
    options = parser.parse_args(words)
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def run(words: list[str]) -> int:
    """Run the benchmarks; return 0 when all was measured, whether the goals are met or not."""
    asked = parse(words)
    rounds = asked.rounds or (QUICK_ROUNDS if asked.quick else ROUNDS)
    node = node_subjects()
    report = Report(Machine.look(node), " ".join(["python -m benchmarks", *words]))
    with tempfile.TemporaryDirectory(prefix="mcp-bridge-bench-") as scratch, Progress() as progress:
        os.environ["MCP_BRIDGE_DATA_DIR"] = str(Path(scratch, "data"))
        options = Options(rounds, asked.quick, Path(scratch), node, progress)
        try:
            for name in asked.only or SCENARIOS:
                asyncio.run(_run(SCENARIOS[name], options, report))
        except BenchmarkError as error:
            print(f"benchmarks: {error}", file=sys.stderr)
            return 1
    report.show()
    output = asked.output or (PARTIAL if asked.quick or asked.only else RESULTS)
    output.write_text(report.markdown(), encoding="utf-8")
    print(f"written: {output}")
    return 0


async def _run(scenario: Callable[[Options], AsyncIterator[Section]], options: Options, report: Report) -> None:
    """Run a scenario; what is there already is kept in the cache folder if the run is stopped."""
    async for section in scenario(options):
        report.sections.append(section)
        PARTIAL.parent.mkdir(parents=True, exist_ok=True)
        PARTIAL.write_text(report.markdown(), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
