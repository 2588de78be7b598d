"""Measurements that need a process of their own: the parent's side.

A child is a module of this package. It reads its job as JSON from its first argument and
prints JSON lines: `{"progress": n}` any number of times, then `{"result": ...}`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from .errors import BenchmarkError
from .servers import ROOT

CHILD_SECONDS = 1800.0


async def run_child(
    module: str, job: Mapping[str, Any], advance: Callable[[int], None] = lambda count: None
) -> dict[str, Any]:
    """Run `benchmarks.<module>` and return its result. Raises `BenchmarkError` if it fails."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        f"benchmarks.{module}",
        json.dumps(job),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    if process.stdout is None or process.stderr is None:
        raise BenchmarkError("the child has no pipes")
    errors = asyncio.create_task(process.stderr.read())
    try:
        result = await asyncio.wait_for(_read(process.stdout, advance), CHILD_SECONDS)
        status = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        said = (await errors).decode("utf-8", "replace").strip()
    if status or result is None:
        raise BenchmarkError(f"{module} ended with status {status}: {said[-2000:]}")
    return result


async def _read(stdout: asyncio.StreamReader, advance: Callable[[int], None]) -> dict[str, Any] | None:
    result: dict[str, Any] | None = None
    while line := await stdout.readline():
        said = json.loads(line)
        advance(said.get("progress", 0))
        result = said.get("result", result)
    return result


def tell(**said: Any) -> None:
    """Print one line for the parent; used by children."""
    print(json.dumps(said), flush=True)
