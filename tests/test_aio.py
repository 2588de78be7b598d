"""Waiting with a limit, and being cancelled meanwhile."""

from __future__ import annotations

import asyncio
import re

import pytest

from mcp_bridge.aio import Deadline, wait_for_event
from mcp_bridge.errors import CallTimeout


async def test_a_cancellation_that_comes_together_with_the_event_is_not_lost() -> None:
    """A user who takes a question back in the moment a place becomes free does not have it answered after all."""
    event = asyncio.Event()
    went_on = False

    async def wait() -> None:
        nonlocal went_on
        await wait_for_event(event, 60)
        went_on = True

    task = asyncio.create_task(wait())
    await asyncio.sleep(0.01)
    event.set()
    await asyncio.sleep(0)  # the waiter has ended, but its owner has not been told yet
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not went_on


async def test_the_limit_is_kept_and_told() -> None:
    event = asyncio.Event()
    assert not await wait_for_event(event, 0.05)
    event.set()
    assert await wait_for_event(event, 0)


def unanswered() -> asyncio.Future[str]:
    return asyncio.get_running_loop().create_future()


async def test_an_answer_that_is_there_already_is_returned_however_little_time_is_left() -> None:
    answer = unanswered()
    answer.set_result("5")
    assert await Deadline(0, 0).wait(answer, lambda: 0.0, "calculator") == "5"


async def test_an_answer_wakes_its_caller_before_anything_that_was_woken_after_it() -> None:
    """A caller need not wait until the SDK's session has taken the answer in, too."""
    answer, order = unanswered(), []

    async def call() -> None:
        now = asyncio.get_running_loop().time()
        order.append(await Deadline(60, 60).wait(answer, lambda: now, "calculator"))

    task = asyncio.create_task(call())
    await asyncio.sleep(0)
    answer.set_result("5")
    asyncio.get_running_loop().call_soon(order.append, "the session")
    await task
    assert order == ["5", "the session"]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Deadline(0.05, 60), "no answer and no progress for 0.1 s"),
        (Deadline(60, 0.05), "not done after 0.1 s in all"),
        (Deadline(0.05, 0.05), "not done after 0.1 s in all"),
        (Deadline(0, 60), "no answer and no progress for 0 s"),
    ],
)
async def test_each_limit_is_kept_and_named(limits: Deadline, said: str) -> None:
    started = asyncio.get_running_loop().time()
    with pytest.raises(CallTimeout, match=re.escape(said)) as caught:
        await limits.wait(unanswered(), lambda: started, "calculator")
    assert caught.value.server == "calculator"
    assert asyncio.get_running_loop().time() - started >= min(limits.idle, limits.total)


async def test_progress_moves_the_idle_limit_but_not_the_total() -> None:
    """A long job that reports progress is left to work; one that reports for ever is not."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    with pytest.raises(CallTimeout, match="in all"):
        await Deadline(0.05, 0.5).wait(unanswered(), loop.time, "calculator")
    assert loop.time() - started >= 0.5


async def test_what_the_answer_raises_is_raised() -> None:
    answer = unanswered()
    asyncio.get_running_loop().call_soon(answer.set_exception, ConnectionError("gone"))
    now = asyncio.get_running_loop().time()
    with pytest.raises(ConnectionError, match="gone"):
        await Deadline(60, 60).wait(answer, lambda: now, "calculator")


async def test_a_caller_that_gives_up_as_the_answer_comes_has_given_up() -> None:
    loop = asyncio.get_running_loop()
    answer, now = unanswered(), loop.time()
    task = asyncio.create_task(Deadline(60, 60).wait(answer, lambda: now, "calculator"))
    await asyncio.sleep(0)
    answer.set_result("5")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
