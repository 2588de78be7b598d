"""The interface of a session strategy: which session a call gets."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol

from .requests import ToolRequest
from .session import Session


class Sessions(Protocol):
    """Lends the sessions of one server."""

    def lease(self, call: ToolRequest, chat: str | None, seconds: float) -> AbstractAsyncContextManager[Session]:
        """Lend a session for one call, opened within `seconds`. Raises `ServerUnavailable`."""

    def offer(self, session: Session) -> None:
        """Keep a session that no call has used, or end it."""

    def for_listing(self) -> AbstractContextManager[Session | None]:
        """Lend the session on which tools must be listed, None if that is to be a new one."""

    def renew(self) -> None:
        """Let no further call begin on a session that is open now."""

    async def close(self) -> None:
        """End everything and wait for it."""
