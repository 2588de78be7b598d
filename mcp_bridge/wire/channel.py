"""What a session talks through, whatever carries it: messages in, messages out."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

from .filter import Incoming, MessageFilter
from .framing import Broken, Message

logger = logging.getLogger(__name__)

DOUBT_SECONDS = 0.5
"""How long a better answer is awaited after one that could not be read: lines get torn."""


class Channel(Protocol):
    """One open connection to a server."""

    async def receive(self) -> Message | Broken | None:
        """Return the next message, an unreadable answer, or None when there will be none any more."""

    async def send(self, message: Message, metadata: Any = None) -> None:
        """Send a message. Raises `OSError` if the connection is gone."""

    async def describe_end(self) -> str:
        """Return why the connection ended, for the owner and the model."""


@asynccontextmanager
async def session_streams(
    channel: Channel, message_filter: MessageFilter, ended: asyncio.Event
) -> AsyncIterator[tuple[Any, Any]]:
    """Yield the stream pair for the SDK's session, with the filter between it and the channel.

    The pair ends when the channel does, which ends the session's pending requests and sets `ended`.
    """
    from .. import _sdk

    async with _sdk.memory_streams() as (session_side, (from_session, to_session)):
        tasks = [
            asyncio.create_task(_inbound(channel, message_filter, to_session, ended), name="mcp inbound"),
            asyncio.create_task(_outbound(channel, message_filter, from_session), name="mcp outbound"),
        ]
        try:
            yield session_side
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _inbound(channel: Channel, message_filter: MessageFilter, to_session: Any, ended: asyncio.Event) -> None:
    """Carry what the server says to the session until the channel ends."""
    doubts: set[asyncio.Task[None]] = set()
    async with to_session:
        try:
            while (message := await channel.receive()) is not None:
                if isinstance(message, Broken):
                    incoming = Incoming(doubtful=message)
                else:
                    incoming = message_filter.incoming(message)
                await _pass_on(incoming, channel, to_session)
                if incoming.doubtful is not None:
                    doubt = asyncio.create_task(_settle(incoming.doubtful, message_filter, to_session))
                    doubts.add(doubt)
                    doubt.add_done_callback(doubts.discard)
        finally:
            ended.set()  # before the stream closes: whoever waits for an answer then asks why
            for doubt in doubts:
                doubt.cancel()
            await asyncio.gather(*doubts, return_exceptions=True)


async def _pass_on(incoming: Incoming, channel: Channel, to_session: Any) -> None:
    from .. import _sdk

    if incoming.reply is not None:
        # A server that has stopped reading loses its answer, not us our reader.
        with contextlib.suppress(OSError):
            await channel.send(incoming.reply)
    if incoming.forward is not None:
        await to_session.send(_sdk.to_session(incoming.forward))


async def _settle(doubtful: Broken, message_filter: MessageFilter, to_session: Any) -> None:
    """Take an answer that could not be read for the end of its call, unless a better one comes."""
    from .. import _sdk

    await asyncio.sleep(DOUBT_SECONDS)
    forward = message_filter.broken(doubtful)
    if forward is not None:
        await to_session.send(_sdk.to_session(forward))


async def _outbound(channel: Channel, message_filter: MessageFilter, from_session: Any) -> None:
    """Carry what the session says to the server until the session ends."""
    from .. import _sdk

    async for item in from_session:
        message = message_filter.outgoing(_sdk.to_wire(item))
        if message is not None:
            try:
                await channel.send(message, item.metadata)
            except OSError as error:  # the inbound side notices the end and tells the session
                logger.debug("could not send: %s", error)
            else:
                message_filter.sent(message)
