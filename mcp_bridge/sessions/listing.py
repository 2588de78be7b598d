"""List the tools of a server: `tools/list`, page by page, within limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import BridgeError, CallTimeout, RpcError
from ..text import json_text
from ..text.cleaning import clean_label, truncate
from ..tools.tool import MAX_TOOLS, Listing, parse_tools
from ..transport.correlation import METHOD_NOT_FOUND
from .session import Session

MAX_PAGES = 200
"""Pages of `tools/list` read from one server: a cursor that never ends must not hold us."""


async def list_tools(
    session: Session, seconds: float, now: Callable[[], float], *, limit: float | None = None
) -> Listing:
    """Read all pages of `tools/list` within `seconds` (of the clock `now`).

    `limit` is what the owner has configured, if `seconds` is only what is left of it.

    A server that announces no tools is not asked. If a later page fails, the earlier ones
    are kept. Raises `BridgeError` if there is not even a first page.
    """
    if session.initialize_result is not None and not session.initialize_result.offers_tools:
        return Listing()
    entries: list[Any] = []
    problems: list[str] = []
    cursor: str | float | None = None
    seen: set[str | float] = set()
    deadline = now() + seconds
    for page in range(1, MAX_PAGES + 1):
        try:
            params = {} if cursor is None else {"cursor": cursor}
            result = await session.request("tools/list", params, max(deadline - now(), 0.001))
        except BridgeError as error:
            if isinstance(error, RpcError) and error.code == METHOD_NOT_FOUND and page == 1:
                return Listing()
            if page == 1:
                raise _named(error, limit or seconds) from None
            problems.append(f"page {page} of its tool list failed, the earlier ones are used: {error.message}")
            break
        found = result.get("tools")
        if isinstance(found, Mapping):  # keyed by name
            found = [{"name": name, **one} for name, one in found.items() if isinstance(one, Mapping)]
        if isinstance(found, list):
            entries += found
        else:
            problems.append("its tool list holds no array of tools")
        cursor = result.get("nextCursor")
        if cursor in (None, "", [], {}) or cursor is False:
            break
        if not _is_cursor(cursor):
            shown = truncate(clean_label(json_text.dumps(cursor)), 80)
            problems.append(f"page {page} of its tool list names the next one in no usable way: {shown}")
            break
        if cursor in seen or len(entries) > MAX_TOOLS or page == MAX_PAGES:
            problems.append(f"its tool list does not end; the first {len(entries)} tools are used")
            break
        seen.add(cursor)
    listing = parse_tools(session.server, entries[:MAX_TOOLS])
    return Listing(listing.tools, (*problems, *listing.problems))


def _is_cursor(value: object) -> bool:
    """Tell whether it can be sent back as it is; by the specification it is a text."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _named(error: BridgeError, seconds: float) -> BridgeError:
    if isinstance(error, CallTimeout):
        text = f"no answer to tools/list within {round(seconds, 1):g} s (connect_timeout)"
        return CallTimeout(text, server=error.server)
    return error
