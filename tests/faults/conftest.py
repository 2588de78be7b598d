"""After each fault: no process is left, no half-written file, and nothing else of what a test started."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_bridge.store.atomic_file import PREFIX
from tests.support.processes import children
from tests.support.waiting import GENEROUS


@pytest.fixture(autouse=True)
def nothing_left(data_dir: Path) -> Iterator[None]:
    """Fail a test that leaves a process or an unfinished file behind."""
    before = children()
    yield
    deadline = time.monotonic() + GENEROUS  # who was killed waits to be buried by somebody else
    while children() - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert children() - before == set()
    assert [file.name for file in data_dir.rglob(f"{PREFIX}*")] == []
