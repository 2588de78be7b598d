"""Reload the plugin in MaiBot: the only way to change the tools that it has declared.

One background task does it, never a hook: a plugin that awaits its own reload while
it is loading ends up running twice (seen on 1.3.15).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from ...store.atomic_file import write_whole

logger = logging.getLogger(__name__)

MIN_PAUSE_SECONDS = 5.0
MAX_PAUSE_SECONDS = 600.0
"""The pause between reloads: it doubles from the minimum to the maximum while reloads go on."""
CALM_SECONDS = 600.0
"""After this time without a reload the pause is the minimum again."""
MAX_REFUSALS = 5
"""Refusals of the host in a row, after which the next change is awaited."""
SETTLE_SECONDS = 1.0
"""How long further changes are collected: servers become ready one after another."""
RECENT_SECONDS = 30.0
"""A start this soon after a reload requested in this process is that reload."""


class Reloader:
    """Reloads the plugin when the tools it would declare differ from those it has declared.

    `reload` asks the host and returns whether it reloaded; `differs` compares. The time of the last
    reload is stored in `state_file`, because a reload ends this object.
    """

    def __init__(self, reload: Callable[[], Awaitable[bool]], differs: Callable[[], bool], state_file: Path) -> None:
        self._reload = reload
        self._differs = differs
        self._state_file = state_file
        self._wanted = asyncio.Event()
        self._edited = False
        self._stopped = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start checking for changes; the first check is due now."""
        self._wanted.set()
        self._task = asyncio.create_task(self._run(), name="mcp-bridge reload")

    def request(self, *, edited: bool = False) -> None:
        """Schedule a check for changed tools. An owner's edit skips the back-off for servers that keep changing."""
        self._edited = self._edited or edited
        self._wanted.set()

    def stop(self) -> None:
        """Stop checking. A running reload is not cancelled: the host is unloading this plugin in it."""
        self._stopped = True
        self._wanted.set()

    async def _run(self) -> None:
        refusals = 0
        while not self._stopped:
            await self._wanted.wait()
            self._wanted.clear()
            await asyncio.sleep(SETTLE_SECONDS)
            if self._stopped or not self._differs():
                continue
            last, pause = read_state(self._state_file)
            pause = MIN_PAUSE_SECONDS if self._edited else pause
            await asyncio.sleep(max(last + pause - time.time(), 0))
            if self._stopped or not self._differs():
                continue
            self._write(pause if not self._edited else MIN_PAUSE_SECONDS / 2)
            logger.info("the tools have changed: reloading the plugin once")
            if await self._reload():
                return
            refusals += 1
            if refusals < MAX_REFUSALS:
                await asyncio.sleep(min(MIN_PAUSE_SECONDS * 2**refusals, MAX_PAUSE_SECONDS))
                self._wanted.set()
            else:
                logger.warning("the host refuses to reload the plugin; changed tools appear after a restart")
                refusals = 0

    def _write(self, pause: float) -> None:
        state = {"last": time.time(), "pause": min(pause * 2, MAX_PAUSE_SECONDS), "pid": os.getpid()}
        try:
            self._state_file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._state_file, json.dumps(state).encode())
        except OSError as error:
            logger.debug("the time of the reload cannot be stored: %s", error)


def read_state(state_file: Path) -> tuple[float, float]:
    """Return the Unix time of the last reload, and the pause in seconds after it."""
    state = _load(state_file)
    last, pause = state.get("last"), state.get("pause")
    if not isinstance(last, float) or not isinstance(pause, (int, float)):
        return 0.0, MIN_PAUSE_SECONDS
    if not 0 <= time.time() - last < CALM_SECONDS:  # also after the clock was set back
        return 0.0, MIN_PAUSE_SECONDS
    return last, min(max(pause, MIN_PAUSE_SECONDS), MAX_PAUSE_SECONDS)


def is_own_reload(state_file: Path) -> bool:
    """Return whether this start is a reload that an earlier instance in this process has requested."""
    state = _load(state_file)
    return state.get("pid") == os.getpid() and 0 <= time.time() - read_state(state_file)[0] < RECENT_SECONDS


def _load(state_file: Path) -> dict[str, object]:
    try:
        state = json.loads(state_file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}
