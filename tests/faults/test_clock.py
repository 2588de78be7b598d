"""The clock is set forward or back while the bot runs: no limit may depend on it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcp_bridge.hosts.maibot.reload import CALM_SECONDS, MIN_PAUSE_SECONDS, is_own_reload, read_state
from tests.support.entries import Write, odd
from tests.support.places import ROOT
from tests.support.remote import at, remote

PROGRAM = """
import random, time
now, dice = time.time, random.Random(1)
time.time = lambda: max(now() + dice.choice((-1, 1)) * dice.randrange(40 * 365 * 86400), 0)
import asyncio, logging, sys
from mcp_bridge import Bridge, CallTimeout, load_config

async def timed(bridge, tool, **arguments):
    began = time.monotonic()
    try:
        told = (await bridge.call(tool, arguments)).text
    except CallTimeout as error:
        told = error.message.rpartition(": ")[2]
    return told, round(time.monotonic() - began, 1)

async def main():
    async with Bridge(load_config(sys.argv[1])) as bridge:
        for name in ("s", "kept", "far"):
            for seconds in (0.5, 30):
                print(name, *await timed(bridge, f"mcp_{name}_sleep", seconds=seconds), sep="|", flush=True)
        print("states", *(one.state for one in bridge.status()), sep="|")
asyncio.run(main())
"""


def test_the_clock_jumps_by_years_and_every_limit_is_kept(write_config: Write, tmp_path: Path) -> None:
    kept = 'session = "shared"\ncall_timeout = 2'
    with remote(tmp_path, "sleep") as server:
        entries = odd("s", "sleep", more="call_timeout = 2") + odd("kept", "sleep", more=kept)
        entries += at(server.origin + "/mcp", "far", call_timeout=2)
        command = [sys.executable, "-c", PROGRAM, str(write_config(entries))]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    lines = [line.split("|") for line in done.stdout.splitlines()]
    assert lines.pop() == ["states", "ready", "ready", "ready"], done.stderr
    assert len(lines) == 6
    for name, told, seconds in lines:
        if told == "slept 0.5 s":
            assert 0.5 <= float(seconds) < 10, name
        else:
            assert told == "no answer and no progress for 2 s", name
            assert 2 <= float(seconds) < 12, name
    assert [told for _, told, _ in lines].count("slept 0.5 s") == 3
    assert done.stderr == ""


TELL_THE_TIME = {"trace.py", "page.py"}
"""Modules that show people when something was, and decide nothing by it."""


def test_nobody_asks_the_clock_but_for_the_time_of_the_last_reload_or_to_show_it() -> None:
    asking = set()
    for file in (ROOT / "mcp_bridge").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in ("time.time", "datetime.now", "datetime.today"):
                asking.add(file.name)
            if isinstance(node, ast.ImportFrom) and node.module == "time":
                assert not {"time", "*"} & {one.name for one in node.names}, file
    assert asking == {"reload.py"} | TELL_THE_TIME


@pytest.mark.parametrize("jump", [-86400.0, -1.0, CALM_SECONDS + 1, 86400.0, 1e9])
def test_the_clock_was_set_since_the_last_reload_and_the_next_one_is_not_put_off(tmp_path: Path, jump: float) -> None:
    state = tmp_path / "reload.json"
    state.write_text(json.dumps({"last": time.time() - jump, "pause": 600.0, "pid": os.getpid()}))
    assert read_state(state) == (0.0, MIN_PAUSE_SECONDS)
    assert not is_own_reload(state)
