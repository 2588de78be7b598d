"""How calls to one server get their sessions."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol

from .requests import ToolRequest
from .session import Session


class Sessions(Protocol):
    """How calls to one server get their sessions."""

    def lease(self, call: ToolRequest, chat: str | None, seconds: float) -> AbstractAsyncContextManager[Session]:
        """Lend a session for one call, opened within `seconds`. Raises `ServerUnavailable`."""

    def offer(self, session: Session) -> None:
        """Take in a session that no call has used, or end it where none is wanted."""

    def for_listing(self) -> AbstractContextManager[Session | None]:
        """Lend the session that must be asked for the tools, None if a new one is to be."""

    def renew(self) -> None:
        """Let no further call begin on a session that is open now."""

    async def close(self) -> None:
        """End everything and wait for it."""
