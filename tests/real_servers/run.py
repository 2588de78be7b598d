"""Check public servers through the bridge: `python -m tests.real_servers.run [NAME ...]`.

They are installed in `.venv-servers` from npm and PyPI, in the versions of the table. After each server
no process of it may be left. Prints a table, and ends with status 1 if a check failed or a server
cannot be installed. A server whose own needs (a browser, pandoc) are not here is skipped.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import psutil

from mcp_bridge import BridgeError

from .install import NotInstalled, install
from .scene import Scene, equal
from .table import SERVERS, RealServer

CHECK_SECONDS = 600.0


@dataclass
class Row:
    """How one server did."""

    server: RealServer
    passed: int = 0
    run: int = 0
    seconds: float = 0.0
    result: str = "ok"


async def check(server: RealServer, program: Path, row: Row) -> None:
    """Run all checks of a server, each in a scratch folder of its own."""

    async def lists_all_tools(scene: Scene) -> None:
        async with scene.open() as opened:
            equal(len(opened.tools), server.tools)

    needs = shutil.which(server.needs) if server.needs else ""
    args = tuple(word.replace("{needs}", needs or "") for word in server.args)
    for one in (lists_all_tools, *server.checks):
        row.run += 1
        before = set(psutil.Process().children(recursive=True))
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            scene = Scene(Path(folder), program, args, server.env)
            try:
                await asyncio.wait_for(one(scene), CHECK_SECONDS)
                await scene.all_ended()
                equal(set(psutil.Process().children(recursive=True)) - before, set())
            except (
                AssertionError,
                BridgeError,
                asyncio.TimeoutError,
                OSError,
                KeyError,
                TypeError,
                ValueError,
            ) as error:
                row.result = "FAIL"
                line = traceback.extract_tb(error.__traceback__)[-1]
                print(f"{server.name}: {one.__name__}: {error!r} ({line.name}, line {line.lineno})", flush=True)
            else:
                row.passed += 1


def run(server: RealServer) -> Row:
    """Install and check a server."""
    row = Row(server)
    try:
        program = install(server)
    except NotInstalled as error:
        row.result = f"skipped: {error}" if error.skipped else f"FAIL {error}"
        return row
    started = time.monotonic()
    asyncio.run(check(server, program, row))
    row.seconds = time.monotonic() - started
    return row


def main(names: list[str]) -> int:
    unknown = set(names) - {server.name for server in SERVERS}
    if unknown:
        print(f"no such server: {', '.join(sorted(unknown))}")
        return 1
    rows = []
    for server in SERVERS:
        if not names or server.name in names:
            row = run(server)
            rows.append(row)
            print(f"{server.name}: {row.passed} of {row.run} checks, {row.result}", flush=True)
    print(f"\n{'server':20}| {'version':19}| checks | time  | result")
    for row in rows:
        cells = f"{row.server.version:19}| {row.passed}/{row.run}    | {row.seconds:3.0f} s | {row.result}"
        print(f"{row.server.name:20}| {cells}")
    return 1 if any(row.result.startswith("FAIL") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
