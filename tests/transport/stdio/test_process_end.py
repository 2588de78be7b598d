"""Closing: what was left behind on machines, or written to consoles, when a bridge ended."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from types import FrameType

import psutil
import pytest

from mcp_bridge import Bridge, load_config
from mcp_bridge.bridge.thread import BridgeThread
from tests.support.entries import Write, odd
from tests.support.places import ROOT
from tests.support.processes import alive
from tests.support.server_log import ServerLog
from tests.support.serving import serving
from tests.support.waiting import GENEROUS, until

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("no_children_left")]


async def test_closing_from_another_task_and_reloading_twice_leaves_no_trace(
    write_config: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(0)
    problems: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: problems.append(context))
    log = ServerLog(tmp_path / "log")
    more = 'session = "shared"'
    config = load_config(write_config("".join(odd(f"s{n}", "normal", f"log={log.path}", more=more) for n in (1, 2, 3))))
    bridge = Bridge(config)
    await asyncio.create_task(bridge.start())
    assert len(log.running()) == 3
    await asyncio.create_task(bridge.close())
    assert log.running() == set()
    former = BridgeThread(config)
    former.start()
    for _ in range(2):  # a reloading host: the new one runs before the old one has ended
        assert await asyncio.to_thread(former.wait_ready, GENEROUS)
        latter = BridgeThread(config)
        latter.start()
        assert await asyncio.to_thread(latter.wait_known, GENEROUS)
        former.close_soon()
        assert (await latter.call("mcp_s2_echo", {"text": "x"})).text == "x"
        assert await asyncio.to_thread(former.join, GENEROUS)
        former = latter
    former.close_soon()
    assert await asyncio.to_thread(former.join, GENEROUS)
    assert log.running() == set()
    assert problems == []
    written = caplog.text + "".join(capfd.readouterr())
    for words in ("cancel scope", "asynchronous generator", "Traceback", "never retrieved", "was destroyed"):
        assert words not in written


@pytest.mark.parametrize(("mode", "bound"), [("ignore_stdin_close", 30), ("ignore_eof", 30)])
async def test_reconnecting_to_servers_that_ignore_the_end_piles_nothing_up(
    write_config: Write, tmp_path: Path, mode: str, bound: float
) -> None:
    log = ServerLog(tmp_path / "log")
    config = load_config(
        write_config("".join(odd(f"s{n}", mode, f"log={log.path}", more="warm = 0") for n in range(5)))
    )
    loop = asyncio.get_running_loop()
    async with Bridge(config):
        pass
    files = psutil.Process().num_fds()
    for _ in range(2):  # with five servers each
        async with Bridge(config) as bridge:
            assert [one.state for one in bridge.status()] == ["ready"] * 5
            ending = loop.time()
        assert loop.time() - ending < bound
        assert log.running() == set()
        assert [one for one in psutil.Process().children(recursive=True) if one.status() == "zombie"] == []
    assert psutil.Process().num_fds() <= files
    assert log.starts() == 15


@pytest.mark.skipif(os.name == "nt", reason="signals")
async def test_the_server_behind_a_launcher_ends_and_nobody_else_is_signalled(
    write_config: Write, tmp_path: Path
) -> None:
    got: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        got.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    neighbour = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])  # in our own group
    try:
        log = ServerLog(tmp_path / "log")
        async with Bridge(load_config(write_config(odd("s", "wrapper", f"log={log.path}")))) as bridge:
            assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
            assert [event["pid"] for event in log.events("child") if alive(event["pid"])]
        assert len(log.pids()) >= 2
        assert log.running() == set()
        assert got == []
        assert neighbour.poll() is None
    finally:
        neighbour.kill()
        neighbour.wait()
        for number, handler in before.items():
            signal.signal(number, handler)


async def test_a_helper_that_holds_the_pipes_neither_delays_the_end_nor_survives(
    write_config: Write, tmp_path: Path
) -> None:
    log = ServerLog(tmp_path / "log")
    loop = asyncio.get_running_loop()
    async with Bridge(load_config(write_config(odd("s", "grandchild", "seconds=300", f"log={log.path}")))) as bridge:
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
        assert len(log.events("child")) >= 1
        ending = loop.time()
    assert loop.time() - ending < 15
    assert log.running() == set()
    assert {event["status"] for event in log.events("exit")} == {0}  # at the end of their input, not by force


QUIET = """
import asyncio, sys
from mcp_bridge import Bridge, load_config
from mcp_bridge.transport.stdio import process as server_process
if sys.argv[2] == "windows":  # asyncio's own processes, as on a Proactor loop
    server_process._start_posix = server_process.start_by_loop
async def main():
    async with Bridge(load_config(sys.argv[1])) as bridge:
        print((await bridge.call("mcp_s_echo", {"text": "done"})).text)
asyncio.run(main())
"""


@pytest.mark.parametrize("way", ["windows", "posix"])
@pytest.mark.parametrize("mode", ["normal", "exit_after_call"])
def test_nothing_is_printed_when_the_interpreter_ends(write_config: Write, way: str, mode: str) -> None:
    file = write_config(odd("s", mode))
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "always::ResourceWarning", "-c", QUIET, str(file), way],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("done\n", 0)
    for words in ("closed pipe", "unclosed", "ResourceWarning", "Exception ignored", "Event loop is closed"):
        assert words not in done.stderr


@pytest.mark.parametrize("pause", [0, 0.4])
async def test_a_server_that_saves_its_work_at_the_end_is_given_the_time(
    write_config: Write, tmp_path: Path, pause: float
) -> None:
    log = ServerLog(tmp_path / "log")
    async with Bridge(load_config(write_config(odd("s", "slow_eof", "delay=1", f"log={log.path}")))) as bridge:
        await bridge.call("mcp_s_echo", {"text": "x"})
        await asyncio.sleep(pause)  # the session of that call has begun to end, and is not cut off
    assert log.events("signal") == []
    assert [event["status"] for event in log.events("exit")] == [0] * log.starts()


async def test_a_helper_in_a_session_of_its_own_ends_too(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    entries = "".join(
        odd(f"s{n}", mode, f"log={log.path}") for n, mode in enumerate(("daemon_helper", "wrapper_setsid"))
    )
    async with Bridge(load_config(write_config(entries))) as bridge:
        assert (await bridge.call("mcp_s0_echo", {"text": "x"})).text == "x"
        assert (await bridge.call("mcp_s1_echo", {"text": "x"})).text == "x"
        assert log.running()
    await until(lambda: not log.running())


async def test_a_frozen_server_is_ended_though_it_cannot_act_on_a_signal(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    entry = odd("s", "stopped", f"log={log.path}", more="call_timeout = 1")
    async with Bridge(load_config(write_config(entry))) as bridge:
        tool = asyncio.create_task(bridge.call("mcp_s_freeze"))
        await asyncio.wait({tool})
        assert "no answer and no progress for 1 s" in str(tool.exception())
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
    assert log.running() == set()


async def test_words_after_the_end_of_its_input_disturb_nobody(
    write_config: Write, caplog: pytest.LogCaptureFixture
) -> None:
    async with Bridge(load_config(write_config(odd("s", "talks_after_eof")))) as bridge:
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
    assert [one.getMessage() for one in caplog.records if one.levelname == "ERROR"] == []


def test_a_call_right_after_the_start_of_the_thread_is_taken(write_config: Write) -> None:
    bridge = BridgeThread(load_config(write_config(odd("s", "normal"))))
    bridge.start()
    try:
        assert bridge.submit("mcp_s_echo", {"text": "x"}).result(GENEROUS).text == "x"
    finally:
        bridge.close_soon()
        assert bridge.join(GENEROUS)


@pytest.mark.parametrize("path", ["mcp", "sse"])
async def test_a_session_over_http_leaves_no_stream_open(write_config: Write, path: str) -> None:
    if path == "sse" and tuple(map(int, version("mcp").split(".")[:2])) < (1, 30):
        pytest.skip("older SDKs leave the streams of an SSE connection to the garbage collector")
    gc.collect()  # what such a connection of another test has left is not ours
    with serving("normal") as url, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ResourceWarning)
        for _ in range(3):
            async with Bridge(load_config(write_config(f'[mcp.servers.s]\nurl = "{url}/{path}"\n'))) as bridge:
                assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
        gc.collect()
    assert [str(one.message) for one in warned] == []
