"""The SDK is imported for a remote server only, and never on the event loop."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.entries import Write, odd
from tests.support.places import ROOT
from tests.support.remote import at, remote

pytestmark = pytest.mark.process

PROGRAM = """
import asyncio, sys, threading
from mcp_bridge import Bridge, load_config

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in ("mcp", "mcp_bridge._sdk"):
            where = "on the loop" if threading.current_thread() is threading.main_thread() else "on a thread"
            print(name, where, flush=True)

async def main():
    async with Bridge(load_config(sys.argv[1])) as bridge:
        print((await bridge.call("mcp_s_echo", {"text": "x"})).text)

sys.meta_path.insert(0, Watch())
asyncio.run(main())
"""


def where_imported(config: Path) -> list[str]:
    command = [sys.executable, "-c", PROGRAM, str(config)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    return sorted(done.stdout.splitlines())


EXPECTED = ["mcp on a thread", "mcp_bridge._sdk on a thread", "x"]


def test_a_local_server_needs_no_sdk(write_config: Write) -> None:
    assert where_imported(write_config(odd("s", "normal"))) == ["x"]


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
def test_the_sdk_is_imported_off_the_loop_for_a_remote_server(write_config: Write, tmp_path: Path, path: str) -> None:
    with remote(tmp_path, "normal") as server:
        assert where_imported(write_config(at(server.origin + path))) == EXPECTED
