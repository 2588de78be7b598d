"""How chats are reached: a host addresses a message by its own stream id, not by the id of the chat."""

from __future__ import annotations

from collections import OrderedDict

MAX_CHATS = 1024
"""Chats whose stream id is remembered; the one that was quiet longest is dropped first."""


class ChatStreams:
    """The host's stream id of each chat, learned from the calls that come from it."""

    def __init__(self) -> None:
        self._streams: OrderedDict[str, str] = OrderedDict()

    def note(self, chat: str | None, stream_id: str) -> None:
        """Remember the stream id of a chat; does nothing if either is unknown."""
        if chat and stream_id:
            self._streams[chat] = stream_id
            self._streams.move_to_end(chat)
            if len(self._streams) > MAX_CHATS:
                self._streams.popitem(last=False)

    def stream_id(self, chat: str | None) -> str:
        """Return the stream id of a chat, "" if it is unknown."""
        return self._streams.get(chat or "", "")
