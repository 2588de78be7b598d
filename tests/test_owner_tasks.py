"""What an owner's command starts in the background, and how its answer finds the chat."""

from __future__ import annotations

import asyncio

import pytest

from mcp_bridge.hosts.owner import background, chats
from mcp_bridge.hosts.owner.background import BackgroundTasks
from mcp_bridge.hosts.owner.chats import ChatStreams


async def test_unloading_cancels_what_still_runs_and_waits_for_its_end() -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            ended.append("work")

    tasks = BackgroundTasks()
    task = tasks.start(work(), "work")
    await asyncio.sleep(0)
    await tasks.cancel()
    assert ended == ["work"]
    assert task.cancelled()
    await tasks.cancel()


async def test_a_task_that_ignores_its_cancellation_holds_unloading_up_only_briefly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background, "CANCEL_SECONDS", 0.1)
    released = asyncio.Event()

    async def stubborn() -> None:
        try:
            await released.wait()
        except asyncio.CancelledError:
            await released.wait()

    tasks = BackgroundTasks()
    task = tasks.start(stubborn(), "stubborn")
    await asyncio.sleep(0)
    await asyncio.wait_for(tasks.cancel(), 5)
    assert not task.done()
    released.set()
    await task


async def test_a_failure_in_the_background_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ValueError("broken")

    task = BackgroundTasks().start(fail(), "the command /mcp")
    await asyncio.wait({task})
    assert "the command /mcp failed: ValueError('broken')" in caplog.text


def test_the_chat_that_was_quiet_longest_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chats, "MAX_CHATS", 2)
    streams = ChatStreams()
    for chat, stream in (("a", "1"), ("b", "2"), ("a", "3"), ("c", "4"), (None, "5"), ("d", "")):
        streams.note(chat, stream)
    assert [streams.stream_id(chat) for chat in ("a", "b", "c", "d", None)] == ["3", "", "4", "", ""]
