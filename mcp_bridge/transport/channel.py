"""What a session talks through, whatever carries it: messages in, messages out."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from .filter import Incoming, MessageFilter
from .framing import Message, UnreadableAnswer, encode

if TYPE_CHECKING:
    from .._sdk import Inward


logger = logging.getLogger(__name__)

DOUBT_SECONDS = 0.5
"""How long a better answer is awaited after one that could not be read: lines get torn."""
SMALL_BYTES = 32 * 1024
"""What a pipe takes at once, whether or not the server reads: whoever does the handshake must not wait for a call."""
KEPT_LINES = 20
"""How many of the last lines are kept of what a server says beside its messages."""


def _last_lines() -> deque[str]:
    return deque(maxlen=KEPT_LINES)


@dataclass(frozen=True)
class SideOutput:
    """What a process has said beside its messages, the last lines of each: cleaned, secrets masked."""

    stderr: deque[str] = field(default_factory=_last_lines)
    stdout: deque[str] = field(default_factory=_last_lines)


class Channel(Protocol):
    """One open connection to a server."""

    asides: SideOutput

    async def receive(self) -> Message | UnreadableAnswer | None:
        """Return the next message, an unreadable answer, or None when there will be none any more."""

    async def send(self, message: Message, metadata: Any = None) -> None:
        """Send a message. Raises `OSError` if the connection is gone."""

    async def describe_end(self) -> str:
        """Return why the connection ended, for the owner and the model."""


@asynccontextmanager
async def session_streams(
    channel: Channel, message_filter: MessageFilter, on_end: Callable[[], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """Yield the stream pair for the SDK's session, with the filter between it and the channel.

    The pair ends when the channel does, which ends the session's pending requests and calls `on_end`.
    Calls of tools may be begun before the handshake: they leave right behind `initialized`.
    """
    from .. import _sdk

    inward = _sdk.Inward()
    reader = asyncio.create_task(_inbound(channel, message_filter, inward, on_end), name="mcp inbound")
    try:
        yield inward, _sdk.Outward(_Outbound(channel, message_filter).carry)
    finally:
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)
        inward.end()


class _Outbound:
    """Carries what the session says to the channel."""

    def __init__(self, channel: Channel, message_filter: MessageFilter) -> None:
        self._channel = channel
        self._filter = message_filter
        self._begun = asyncio.Event()
        """Set when `initialized` has left."""
        self._behind: list[Message] = []

    async def carry(self, message: Message, metadata: Any) -> None:
        """Send a message of the session, unless the filter has dropped it."""
        allowed = self._filter.outgoing(message)
        if allowed is None:
            return
        method = allowed.get("method")
        if method == "tools/call" and await self._left_behind_initialized(allowed):
            return
        await self._send(allowed, metadata)
        if method == "notifications/initialized":
            for call in self._behind:  # not in the tasks that wait for this moment: theirs comes later
                await self._send(call)
            self._begun.set()

    async def _left_behind_initialized(self, call: Message) -> bool:
        """Hold a call back until the handshake is done; tell whether it has left then."""
        if self._begun.is_set():
            return False
        small = len(encode(call)) <= SMALL_BYTES
        if small:
            self._behind.append(call)
        await self._begun.wait()
        return small

    async def _send(self, message: Message, metadata: Any = None) -> None:
        # Counts as sent from the first byte on, also if the sender is cancelled in between.
        self._filter.sent(message)
        try:
            await self._channel.send(message, metadata)
        except OSError as error:  # the inbound side notices the end and tells the session
            self._filter.not_sent(message)
            logger.debug("could not send: %s", error)


async def _inbound(channel: Channel, message_filter: MessageFilter, inward: Inward, on_end: Callable[[], None]) -> None:
    """Carry what the server says to the session until the channel ends."""
    doubts: set[asyncio.Task[None]] = set()
    try:
        while (message := await channel.receive()) is not None:
            try:
                if isinstance(message, UnreadableAnswer):
                    incoming = Incoming(doubtful=message)
                else:
                    incoming = message_filter.incoming(message)
                if incoming.reply is not None:
                    # A server that has stopped reading loses its answer, not us our reader.
                    with contextlib.suppress(OSError):
                        await channel.send(incoming.reply)
                if incoming.forward is not None:
                    inward.pass_on(incoming.forward)
                if incoming.doubtful is not None:
                    doubt = asyncio.create_task(_settle(incoming.doubtful, message_filter, inward))
                    doubts.add(doubt)
                    doubt.add_done_callback(doubts.discard)
            except Exception:  # a fault of ours must cost this message alone
                logger.debug("a message of the server was lost", exc_info=True)
    finally:
        on_end()  # before the stream ends: whoever waits for an answer then asks why
        for doubt in doubts:
            doubt.cancel()
        await asyncio.gather(*doubts, return_exceptions=True)
        inward.end()


async def _settle(doubtful: UnreadableAnswer, message_filter: MessageFilter, inward: Inward) -> None:
    """Take an answer that could not be read for the end of its call, unless a better one comes."""
    await asyncio.sleep(DOUBT_SECONDS)
    forward = message_filter.broken(doubtful)
    if forward is not None:
        inward.pass_on(forward)
