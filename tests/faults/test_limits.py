"""The limits of the system: no descriptor, no process, no thread is to be had, and then there is room again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.entries import Write, odd
from tests.support.places import ROOT
from tests.support.remote import at, remote

pytestmark = pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")

PROGRAM = """
import asyncio, logging, os, resource, sys
logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
from mcp_bridge import Bridge, BridgeError, load_config
from mcp_bridge.bridge import server
server.FIRST_RETRY_SECONDS = 0.05

async def attempt(bridge, count=1):
    for _ in range(count):
        await asyncio.sleep(0.4)  # the server of the last call has ended
        try:
            print("answer:", (await bridge.call("mcp_s_echo", {"text": "x"})).text, flush=True)
        except BridgeError as error:
            print("error:", type(error).__name__, error.server, error.message, flush=True)

async def until_ready(bridge):
    while bridge.status()[0].state != "ready":
        await asyncio.sleep(0.05)

"""


def run(write_config: Write, program: str, *words: str, entry: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM + program, str(write_config(entry)), *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


DESCRIPTORS = """
async def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with Bridge(load_config(sys.argv[1])) as bridge:
        await attempt(bridge)
        await asyncio.sleep(1)
        taken = []
        while True:
            try:
                taken.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
            if len(taken) == 1:
                resource.setrlimit(resource.RLIMIT_NOFILE, (taken[0] + 20, hard))
        for _ in range(int(sys.argv[2])):
            os.close(taken.pop())
        await attempt(bridge, 3)
        for one in taken:
            os.close(one)
        await until_ready(bridge)
        await attempt(bridge, 2)
    print("open:", len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0)
asyncio.run(main())
"""


@pytest.mark.parametrize("session", ["fresh", "shared"])
def test_too_many_open_files_are_told_and_forgotten(write_config: Write, session: str) -> None:
    entry = odd("s", "exit_after_call", more=f'session = "{session}"\nwarm = 0')
    done = run(write_config, DESCRIPTORS, "3", entry=entry)
    lines = done.stdout.splitlines()
    assert lines[0] == "answer: x"
    assert all("'s'" in line and "Too many open files" in line for line in lines[1:4])
    assert lines[4:6] == ["answer: x", "answer: x"]
    assert "Traceback" not in done.stderr
    assert done.returncode == 0


def test_too_many_open_files_are_told_for_a_remote_server(write_config: Write, tmp_path: Path) -> None:
    with remote(tmp_path) as server:
        done = run(write_config, DESCRIPTORS, "0", entry=at(server.origin + "/mcp", warm=0))
    lines = done.stdout.splitlines()
    assert lines[0] == "answer: x"
    assert all("'s'" in line and "Too many open files" in line for line in lines[1:4])
    assert lines[4:6] == ["answer: x", "answer: x"]
    assert "Traceback" not in done.stderr
    assert done.returncode == 0


PROCESSES = """
import subprocess
refusing = False
start = subprocess.Popen.__init__

def begin(self, *args, **kwargs):
    if refusing:
        raise BlockingIOError(11, "Resource temporarily unavailable")
    start(self, *args, **kwargs)

subprocess.Popen.__init__ = begin

async def main():
    global refusing
    async with Bridge(load_config(sys.argv[1])) as bridge:
        refusing = False
        await until_ready(bridge)
        await attempt(bridge)
        refusing = True
        await attempt(bridge, 3)
        await bridge.refresh()
        print("state:", bridge.status()[0].state, bridge.status()[0].reason, flush=True)
        refusing = False
        await until_ready(bridge)
        await attempt(bridge, 2)
asyncio.run(main())
"""


@pytest.mark.parametrize("session", ["fresh", "shared"])
def test_no_more_processes_is_told_and_forgotten(write_config: Write, session: str) -> None:
    done = run(write_config, PROCESSES, entry=odd("s", "exit_after_call", more=f'session = "{session}"\nwarm = 0'))
    lines = done.stdout.splitlines()
    assert lines[0] == "answer: x"
    assert all("'s'" in line and "Resource temporarily unavailable" in line for line in lines[1:4])
    assert lines[4].startswith("state: retrying cannot start ")
    assert lines[5:] == ["answer: x", "answer: x"]
    assert "Traceback" not in done.stderr
    assert done.returncode == 0


THREADS = """
import threading
from mcp_bridge.bridge.thread import BridgeThread
refusing = False
begin = threading.Thread.start

def start(self):
    if refusing:
        raise RuntimeError("can't start new thread")
    begin(self)

threading.Thread.start = start

async def main():
    await attempt(bridge, 2)
    print("large:", len((await bridge.call("mcp_s_big", {"size": 3000000})).text), flush=True)
    await bridge.refresh()
    print("state:", bridge.status()[0].state)

bridge = BridgeThread(load_config(sys.argv[1]))
bridge.start()
refusing = True
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
loop.close()
bridge.close_soon()
print("closed:", bridge.join(60))
"""


def test_no_thread_is_to_be_had_and_everything_works(write_config: Write) -> None:
    done = run(write_config, THREADS, entry=odd("s", "big_line", more='session = "shared"'))
    assert done.stdout.splitlines() == ["answer: x", "answer: x", "large: 20000", "state: ready", "closed: True"], (
        done.stderr
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == 0
