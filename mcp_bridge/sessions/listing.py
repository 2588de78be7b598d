"""List the tools of a server: `tools/list`, page by page, within limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from ..errors import BridgeError, CallTimeout, RpcError
from ..text import json_text
from ..text.cleaning import clean_label, truncate
from ..tools.tool import MAX_TOOLS, Listing, parse_tools
from ..transport.correlation import METHOD_NOT_FOUND
from .session import Session

MAX_PAGES = 200
"""Pages of `tools/list` read from one server, so that an endless chain of cursors ends."""

_MIN_SECONDS = 0.001
"""Limit of a request when no time is left: it must be positive."""

Cursor = str | float
"""A `nextCursor` that can be sent back. The specification allows strings only; some servers send numbers."""


async def list_tools(
    session: Session, seconds: float, now: Callable[[], float], *, limit: float | None = None
) -> Listing:
    """Read all pages of `tools/list` within `seconds` (of the clock `now`).

    `limit` is the configured limit to name in an error, if `seconds` is only what is left of it.

    Return an empty listing, without a request, if the server announces no tools. If a later page fails, keep
    the earlier ones. Raises `BridgeError` if the first page fails.
    """
    if session.initialize_result is not None and not session.initialize_result.offers_tools:
        return Listing()
    pages = _Pages()
    cursor: Cursor | None = None
    deadline = now() + seconds
    while pages.number == 0 or cursor is not None:
        params = {} if cursor is None else {"cursor": cursor}
        try:
            result = await session.request("tools/list", params, max(deadline - now(), _MIN_SECONDS))
        except BridgeError as error:
            if pages.number > 0:
                pages.fail(error)
                break
            if isinstance(error, RpcError) and error.code == METHOD_NOT_FOUND:
                return Listing()
            raise _with_limit(error, limit or seconds) from None
        cursor = pages.add(result)
    listing = parse_tools(session.server, pages.entries[:MAX_TOOLS])
    return Listing(listing.tools, (*pages.problems, *listing.problems))


class _Pages:
    """The pages of one tool list, as far as they have been read."""

    def __init__(self) -> None:
        self.number = 0
        self.entries: list[Any] = []
        self.problems: list[str] = []
        self._cursors: set[Cursor] = set()

    def add(self, result: Mapping[str, Any]) -> Cursor | None:
        """Add a page and return the cursor of the next one, None if this one is the last to be read."""
        self.number += 1
        self.entries += self._page(result.get("tools"))
        return self._next_cursor(result.get("nextCursor"))

    def fail(self, error: BridgeError) -> None:
        """Note that the next page could not be read."""
        self.problems.append(
            f"page {self.number + 1} of its tool list failed, the earlier ones are used: {error.message}"
        )

    def _page(self, tools: object) -> list[Any]:
        if isinstance(tools, Mapping):  # keyed by name
            return [{"name": name, **one} for name, one in tools.items() if isinstance(one, Mapping)]
        if isinstance(tools, list):
            return tools
        self.problems.append("its tool list contains no array of tools")
        return []

    def _next_cursor(self, cursor: object) -> Cursor | None:
        if cursor in (None, "", [], {}) or cursor is False:
            return None
        if not _is_cursor(cursor):
            shown = truncate(clean_label(json_text.dumps(cursor)), 80)
            self.problems.append(f"page {self.number} of its tool list has an unusable nextCursor: {shown}")
            return None
        if cursor in self._cursors or len(self.entries) > MAX_TOOLS or self.number == MAX_PAGES:
            self.problems.append(f"its tool list does not end; the first {len(self.entries)} tools are used")
            return None
        self._cursors.add(cursor)
        return cursor


def _is_cursor(value: object) -> TypeGuard[Cursor]:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _with_limit(error: BridgeError, seconds: float) -> BridgeError:
    """Return a timeout with the configured limit in place of what was left of it; other errors unchanged."""
    if isinstance(error, CallTimeout):
        text = f"no answer to tools/list within {round(seconds, 1):g} s (connect_timeout)"
        return CallTimeout(text, server=error.server)
    return error
