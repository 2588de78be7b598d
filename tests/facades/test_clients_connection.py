"""When clients are opened and closed, by whom, and what they leave behind."""

from __future__ import annotations

import asyncio
import gc
import time
from pathlib import Path

import pytest

from mcp_bridge import HttpStatelessClient, ServerUnavailable
from tests.support.odd_client import call, stdio, texts
from tests.support.processes import children
from tests.support.remote import remote
from tests.support.waiting import GENEROUS, until

pytestmark = pytest.mark.usefixtures("no_children_left", "no_agentscope")


@pytest.fixture
def before() -> set[int]:
    """What processes there are before the test."""
    return children()


async def test_clients_close_in_any_order_and_from_any_task() -> None:
    clients = [stdio("normal", name=f"odd{number}") for number in range(3)]
    await asyncio.gather(*(asyncio.create_task(client.connect()) for client in clients))
    assert [texts(await call(client, "echo", text="x")) for client in clients] == ["x"] * 3
    for number, client in enumerate(clients):  # first in, first out
        await asyncio.create_task(client.close())
        assert [one.is_connected for one in clients] == [False] * (number + 1) + [True] * (2 - number)
        assert [texts(await call(one, "echo", text="y")) for one in clients[number + 1 :]] == ["y"] * (2 - number)
    await clients[0].close()  # a second time does no harm


def test_a_client_outlives_the_loop_that_connected_it() -> None:
    client = stdio("normal")
    asyncio.run(client.connect())
    function = asyncio.run(client.get_callable_function("echo"))
    assert texts(asyncio.run(function(text="x"))) == "x"
    asyncio.run(client.close())


async def test_closing_ends_running_calls_at_once() -> None:
    client = stdio("sleep")
    await client.connect()
    running = asyncio.create_task(call(client, "sleep", seconds=60))
    await asyncio.sleep(0.5)
    started = time.monotonic()
    await client.close()
    with pytest.raises(ServerUnavailable, match=r"'odd'.*closed"):
        await running
    assert time.monotonic() - started < GENEROUS


async def test_a_client_that_nobody_has_any_more_ends_its_server(before: set[int]) -> None:
    client = stdio("normal")
    await client.connect()
    assert children() - before
    del client
    gc.collect()
    await until(lambda: not children() - before)


async def test_giving_up_connecting_leaves_nothing_behind(before: set[int]) -> None:
    client = stdio("hang_init")
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(client.connect(), 0.5)
    assert not client.is_connected
    await until(lambda: not children() - before)


async def test_who_gives_up_connecting_does_not_take_the_server_from_others() -> None:
    client = stdio("slow_init", "delay=1")
    first, second = (asyncio.create_task(client.connect()) for _ in range(2))
    await asyncio.sleep(0.3)
    second.cancel()
    await first
    assert texts(await call(client, "echo", text="x")) == "x"
    await client.close()


async def test_closing_while_connecting_ends_both(before: set[int]) -> None:
    client = stdio("hang_init")
    connecting = asyncio.create_task(client.connect())
    await asyncio.sleep(0.5)
    await client.close()
    with pytest.raises(ServerUnavailable, match=r"'odd'.*closed"):
        await connecting
    await until(lambda: not children() - before)


async def test_a_server_that_does_not_start_says_why_and_may_be_tried_again(tmp_path: Path) -> None:
    dead = stdio("exit_at_once")
    with pytest.raises(ServerUnavailable, match=r"'odd'.*DATABASE_URL is not set"):
        await dead.connect()
    assert not dead.is_connected
    flaky = stdio("flaky_start", "fails=1", f"state={tmp_path / 'starts'}")
    with pytest.raises(ServerUnavailable, match="'odd'"):
        await flaky.connect()
    async with flaky:
        assert texts(await call(flaky, "echo", text="up")) == "up"


@pytest.mark.process
async def test_a_stateless_client_tries_anew_each_time(tmp_path: Path) -> None:
    with remote(tmp_path) as server:
        await server.steer("set?http=500")
        client = HttpStatelessClient("web", url=f"{server.origin}/mcp")
        answers = await asyncio.gather(client.list_tools(), client.list_tools(), return_exceptions=True)
        assert [type(answer) for answer in answers] == [ServerUnavailable] * 2
        assert all("'web'" in str(answer) and "500" in str(answer) for answer in answers)
        await server.steer("set?http=")
        assert await client.list_tools()
        await client.close()


async def test_using_a_client_at_the_wrong_time_says_what_to_do() -> None:
    client = stdio("normal")
    for early in (client.list_tools(), client.get_callable_function("echo")):
        with pytest.raises(RuntimeError, match=r"'odd' is not connected; await its connect\(\)"):
            await early
    await client.close()
    await client.connect()
    with pytest.raises(RuntimeError, match=r"already connected; call close\(\)"):
        await client.connect()
    function = await client.get_callable_function("echo")
    await client.close()
    with pytest.raises(RuntimeError, match="not connected"):
        await function(text="x")
    await client.connect()
    assert texts(await function(text="back")) == "back"
    await client.close()
