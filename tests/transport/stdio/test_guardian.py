"""What becomes of servers when the process that runs the bridge is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.entries import odd
from tests.support.processes import alive
from tests.support.waiting import GENEROUS

pytestmark = pytest.mark.process

OWNER = """
import asyncio, sys
from mcp_bridge import Bridge, load_config
async def main():
    async with Bridge(load_config(sys.argv[1])) as bridge:
        await bridge.call("mcp_s_echo", {"text": "x"})
        print("up", flush=True)
        await asyncio.sleep(1000)
asyncio.run(main())
"""


def started(log: Path) -> set[int]:
    """Return the servers and their helpers that were started so far."""
    events = [json.loads(line) for line in log.read_text().splitlines()]
    return {event["pid"] for event in events if event["event"] in ("start", "child")}


@pytest.mark.skipif(os.name == "nt", reason="POSIX process groups")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("mode", ["normal", "ignore_stdin_close", "wrapper", "grandchild_stubborn", "daemon_silent"])
def test_servers_end_within_ten_seconds_of_their_owner(
    write_config: Callable[[str], Path], tmp_path: Path, mode: str, end: signal.Signals
) -> None:
    if mode == "daemon_silent" and sys.platform != "linux":
        pytest.skip("a helper that left its group is found by its environment, on Linux")
    log = tmp_path / "log"
    config = write_config(odd("s", mode, f"log={log}"))
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(config)], stdout=subprocess.PIPE, text=True)
    try:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "up\n"
        time.sleep(0.3)
        deadline = time.monotonic() + GENEROUS
        while not any(map(alive, pids := started(log))):  # between a used server and the next spare
            assert time.monotonic() < deadline
            time.sleep(0.05)
        owner.send_signal(end)
        owner.wait(GENEROUS)
        deadline = time.monotonic() + 10
        while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not [pid for pid in pids if alive(pid)]
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close() if owner.stdout else None
