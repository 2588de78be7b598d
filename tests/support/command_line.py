"""The command line in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import ROOT


def run(*words: str, cwd: Path = ROOT, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mcp_bridge", *words],
        cwd=cwd,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def document(done: subprocess.CompletedProcess[str]) -> Any:
    """Return the one JSON document on stdout; anything else there fails."""
    return json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
