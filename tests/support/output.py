"""All that was printed, logged or written, as one text in which a secret can be looked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT


def command_line(*words: str) -> str:
    """Run the command line and return all that it prints."""
    command = [sys.executable, "-m", "mcp_bridge", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120, check=False)
    return (done.stdout + done.stderr).decode()


def files_in(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def written(folder: Path) -> str:
    """Return everything in the files of a folder, and their names."""
    files = files_in(folder)
    assert files
    return "".join(f"{file}\n{file.read_bytes().decode('utf-8', 'replace')}" for file in files)


def logged(caplog: pytest.LogCaptureFixture, *, least: int = 0, package: str = "") -> str:
    records = [one for one in caplog.records if one.levelno >= least and one.name.startswith(package)]
    return "\n".join(f"{one.name}: {one.getMessage()} {one.exc_text or ''}" for one in records)
