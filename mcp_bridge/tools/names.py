"""Public tool names: legal for every model API, unique, and stable.

`mcp_<server>_<tool>` with everything outside `[A-Za-z0-9_]` replaced by `_`. A short hash of the original is
appended only where the plain name is too long, would clash (then to every member of the clash, so that the
result does not depend on order), or where server or tool has no ASCII letter or digit left to identify it.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

PREFIX = "mcp"
MAX_NAME = 64
"""Longest function name that the model APIs accept, in characters."""
_HASH_SIZES = (8, 16, 32)
_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")
_ILLEGAL_IN_PREFIX = re.compile(r"[^A-Za-z0-9_-]")
_BEGINNING = re.compile(r"[A-Za-z]")
_ALNUM = re.compile(r"[A-Za-z0-9]")


@dataclass(frozen=True)
class ToolId:
    """The configured name of a server, and the server's own name of one of its tools."""

    server: str
    remote_name: str


class Identified(Protocol):
    """Anything that belongs to one tool of one server."""

    @property
    def id(self) -> ToolId: ...


T = TypeVar("T", bound=Identified)


def sanitize(text: str) -> str:
    """Replace every character outside `[A-Za-z0-9_]` by `_`."""
    return _ILLEGAL.sub("_", text)


def server_prefix(server: str) -> str:
    """Return the beginning of the names of a server's tools: `mcp_<server>_`."""
    return f"{PREFIX}_{sanitize(server)}_"


def plain_name(server: str, tool: str, prefix: str | None = None) -> str:
    """Return the name of a tool that needs no hash."""
    if prefix is None:
        return server_prefix(server) + sanitize(tool)
    name = _ILLEGAL_IN_PREFIX.sub("_", prefix) + sanitize(tool)
    return name if _BEGINNING.match(name) else f"{PREFIX}_{name}"


def assign_names(tools: Iterable[T], *, prefix: str | None = None) -> dict[str, T]:
    """Return `{public name: tool}`; the names do not depend on the order of the tools.

    Of several tools with the same id the first is kept. A `prefix` replaces `mcp_<server>_`.
    """
    unique: dict[ToolId, T] = {}
    for tool in tools:
        unique.setdefault(tool.id, tool)
    plain = {one: plain_name(one.server, one.remote_name, prefix) for one in unique}
    sizes = {one: _first_size(plain[one], one, shows_server=prefix is None) for one in unique}
    while clashes := _clashes(plain, sizes):
        for one in clashes:
            sizes[one] = _next_size(sizes[one])
    return {_name(plain[one], one, sizes[one]): tool for one, tool in unique.items()}


def _first_size(plain: str, tool: ToolId, *, shows_server: bool) -> int:
    """Return how many characters of hash a name needs even if it does not clash."""
    legible = _ALNUM.search(tool.remote_name) and (not shows_server or _ALNUM.search(tool.server))
    return 0 if legible and len(plain) <= MAX_NAME else _HASH_SIZES[0]


def _next_size(size: int) -> int:
    return next(longer for longer in (*_HASH_SIZES, size + 8) if longer > size)


def _clashes(plain: Mapping[ToolId, str], sizes: Mapping[ToolId, int]) -> list[ToolId]:
    """Return the tools that share a name and need a longer hash.

    Of those with the same name only the ones with the shortest hash: a tool whose plain name equals the
    hashed name of another must not change that other name.
    """
    holders: dict[str, list[ToolId]] = defaultdict(list)
    for tool, size in sizes.items():
        holders[_name(plain[tool], tool, size)].append(tool)
    clashing: list[ToolId] = []
    for tools in holders.values():
        if len(tools) > 1:
            least = min(sizes[tool] for tool in tools)
            clashing += [tool for tool in tools if sizes[tool] == least]
    return clashing


def _name(plain: str, tool: ToolId, size: int) -> str:
    """Return the plain name, cut to make room for `size` characters of the hash of its tool."""
    if not size:
        return plain
    original = f"{len(tool.server)}:{tool.server}:{tool.remote_name}".encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(original).hexdigest()[:size]
    return f"{plain[: MAX_NAME - size - 1].rstrip('_')}_{digest}"
