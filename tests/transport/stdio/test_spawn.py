"""The start of a process: on a thread that ends with it, and nothing is left of one that nobody wants."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable

import psutil
import pytest

from mcp_bridge.transport.stdio import spawn
from mcp_bridge.transport.stdio.launch import Launch
from tests.support.waiting import GENEROUS

pytestmark = [pytest.mark.process, pytest.mark.skipif(sys.platform == "win32", reason="started by the loop there")]

Popen = subprocess.Popen[bytes]


def waiting(*, env: dict[str, str] | None = None) -> Launch:
    """A process that waits for the end of its input, and would ignore SIGTERM."""
    script = "import signal, sys; signal.signal(15, signal.SIG_IGN); sys.stdin.read()"
    return Launch(sys.executable, ("-I", "-S", "-c", script), "/", env or {})


def close(popen: Popen) -> None:
    spawn.discard(popen, (popen.stdin, popen.stdout, popen.stderr))


def starters() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("mcp start")]


async def until_no_starters() -> None:
    async def look() -> None:
        while starters():
            await asyncio.sleep(0.01)

    await asyncio.wait_for(look(), GENEROUS)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event, list[Popen]]:
    """Starts go on only when the second event is set; the first tells that one has begun, the list what it gave."""
    begun, go, given = threading.Event(), threading.Event(), list[Popen]()
    start: Callable[[Launch], Popen] = spawn._popen

    def begin(launch: Launch) -> Popen:
        begun.set()
        assert go.wait(GENEROUS)
        given.append(start(launch))
        return given[-1]

    monkeypatch.setattr(spawn, "_popen", begin)
    return begun, go, given


async def test_the_loop_goes_on_while_a_process_starts_and_its_thread_ends_with_that(
    slow: tuple[threading.Event, threading.Event, list[Popen]],
) -> None:
    begun, go, _ = slow
    starting = asyncio.create_task(spawn.spawn(waiting()))
    while not begun.is_set():
        await asyncio.sleep(0.01)
    assert len(starters()) == 1
    assert not starting.done()
    go.set()
    popen = await asyncio.wait_for(starting, GENEROUS)
    try:
        await until_no_starters()
        assert popen.poll() is None
    finally:
        close(popen)
    assert popen.returncode == -9


@pytest.mark.parametrize("times", [1, 3])
async def test_nothing_is_left_of_a_start_that_is_cancelled_half_way(
    slow: tuple[threading.Event, threading.Event, list[Popen]], times: int
) -> None:
    begun, go, given = slow
    descriptors = psutil.Process().num_fds()
    starting = asyncio.create_task(spawn.spawn(waiting()))
    while not begun.is_set():
        await asyncio.sleep(0.01)
    for _ in range(times):
        starting.cancel()
        await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await starting
    if times > 1:  # whoever cancels again does not wait
        await until_no_starters()
        await asyncio.sleep(0)
    (popen,) = given
    assert popen.returncode == -9
    await until_no_starters()
    assert psutil.Process().num_fds() == descriptors


async def test_why_a_process_cannot_be_started_is_raised() -> None:
    with pytest.raises(FileNotFoundError):
        await spawn.spawn(Launch("/no/such/program", (), "/", {}))
    with pytest.raises(ValueError, match="null byte"):
        await spawn.spawn(waiting(env={"A": "\0"}))
    await until_no_starters()


async def test_a_process_starts_where_the_system_gives_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    popen = await spawn.spawn(waiting())
    assert popen.poll() is None
    close(popen)
