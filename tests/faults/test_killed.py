"""Processes that are killed, and what they leave."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from mcp_bridge import Bridge, ServerUnavailable, load_config
from tests.support.entries import Write, odd
from tests.support.processes import alive
from tests.support.server_log import ServerLog
from tests.support.waiting import GENEROUS, until

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX signals and shells")
linux = pytest.mark.skipif(sys.platform != "linux", reason="a helper that left its group is found by its environment")
SHELL = """
[mcp.servers.s]
command = "sh"
args = ["-c", '"$@"; exit $?', "sh", "{python}", "{odd}", "sleep", "log=LOG"]
session = "SESSION"
call_timeout = 300
"""


@posix
@pytest.mark.parametrize("session", ["fresh", "shared", "chat"])
async def test_the_shell_between_us_and_the_server_is_killed_during_a_call(
    write_config: Write, tmp_path: Path, session: str
) -> None:
    log = ServerLog(tmp_path / "log")
    file = write_config(SHELL.replace("LOG", str(log.path)).replace("SESSION", session))
    async with Bridge(load_config(file)) as bridge:
        running = asyncio.create_task(bridge.call("mcp_s_sleep", {"seconds": 250}, chat="qq:group:1"))
        await until(lambda: bool(log.calls("sleep")))
        (server,) = {event["pid"] for event in log.events("recv") if "sleep" in str(event["message"])}
        shell = psutil.Process(server).ppid()
        assert shell != os.getpid()
        os.kill(shell, signal.SIGKILL)
        with pytest.raises(ServerUnavailable, match=r"'s'.*during tools/call.*killed by SIGKILL"):
            await asyncio.wait_for(running, GENEROUS)
        await until(lambda: not alive(server))  # it is not left behind without its shell
        answer = await bridge.call("mcp_s_echo", {"text": "next"}, chat="qq:group:1")
        assert answer.text == "next"
    assert log.running() == set()


@linux
async def test_helpers_that_left_the_server_end_with_it_and_do_not_pile_up(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    async with Bridge(load_config(write_config(odd("s", "many_helpers", f"log={log.path}")))) as bridge:
        for _ in range(3):
            assert (await bridge.call("mcp_s_spawn", {"count": 2})).text == "started"
        helpers = {event["pid"] for event in log.events("child")}
        assert len(helpers) == 6
        await until(lambda: not any(map(alive, helpers)))  # while the bridge runs on: a bot does for months
        assert (await bridge.call("mcp_s_echo", {"text": "next"})).text == "next"


@linux
async def test_helpers_of_a_server_that_is_still_used_are_left_alone(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    entries = odd("kept", "many_helpers", f"log={log.path}", more='session = "shared"') + odd("other", "daemon_silent")
    async with Bridge(load_config(write_config(entries))) as bridge:
        assert (await bridge.call("mcp_kept_spawn", {"count": 3})).text == "started"
        for _ in range(12):  # servers 1 to 12 end: their marks look like that of the one that stays
            assert (await bridge.call("mcp_other_echo", {"text": "x"})).text == "x"
        await asyncio.sleep(2.5)
        helpers = {event["pid"] for event in log.events("child")}
        assert len(helpers) == 3
        assert all(map(alive, helpers))
    await until(lambda: not any(map(alive, helpers)))


@linux
async def test_a_server_that_starts_a_hundred_stubborn_helpers_is_cleaned_up_completely(
    write_config: Write, tmp_path: Path
) -> None:
    log = ServerLog(tmp_path / "log")
    entry = odd("s", "many_helpers", f"log={log.path}", more='session = "shared"')
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert (await bridge.call("mcp_s_spawn", {"count": 100})).text == "started"
        assert len(log.running()) == 101
        (server,) = {event["pid"] for event in log.events("start") if alive(event["pid"])}
        os.kill(server, signal.SIGKILL)
        await until(lambda: not any(alive(event["pid"]) for event in log.events("child")))
        assert (await bridge.call("mcp_s_spawn", {"count": 100})).text == "started"
    await until(lambda: not log.running())  # also those of the end of the bridge


GUARDED = """
import asyncio, sys
from mcp_bridge import Bridge, load_config
async def main():
    async with Bridge(load_config(sys.argv[1])) as bridge:
        print("up", flush=True)
        for line in sys.stdin:
            print((await bridge.call("mcp_s_echo", {"text": line.strip()})).text, flush=True)
asyncio.run(main())
"""


@posix
def test_somebody_kills_the_guardian_and_then_the_bot(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    # Servers that would not end by themselves with their input.
    config = write_config(odd("s", "ignore_stdin_close", f"log={log.path}"))
    pipe = subprocess.PIPE
    bot = subprocess.Popen([sys.executable, "-c", GUARDED, str(config)], stdin=pipe, stdout=pipe, text=True)
    try:
        assert bot.stdin is not None
        assert bot.stdout is not None
        assert bot.stdout.readline() == "up\n"
        below = psutil.Process(bot.pid).children()
        (guardian,) = [one for one in below if any("guardian_process" in word for word in one.cmdline())]
        guardian.kill()
        for text in ("a", "b"):  # each starts a server
            print(text, file=bot.stdin, flush=True)
            assert bot.stdout.readline() == f"{text}\n"
        assert log.running()
        bot.kill()
        bot.wait(GENEROUS)
        _, left = psutil.wait_procs([psutil.Process(pid) for pid in log.running()], timeout=10)
        assert left == []
    finally:
        bot.kill()
        bot.wait()
        for pipe_end in (bot.stdin, bot.stdout):
            pipe_end.close() if pipe_end else None
