"""An HTTP server in a misbehaving mode for the length of a test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.places import SERVERS


@contextmanager
def serving(mode: str, *options: str) -> Iterator[str]:
    """Start `http_server.py` and yield its address without a path."""
    command = [sys.executable, str(SERVERS / "http_server.py"), mode, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline().split()[1])}"
        finally:
            process.kill()
