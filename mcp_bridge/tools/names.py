"""Public tool names: legal for every model API, unique, and stable.

`mcp_<server>_<tool>` with everything outside `[A-Za-z0-9_]` replaced by `_`. A short
hash of the original is appended only where the plain name is too long, would clash
(then to every member of the clash, so that the result does not depend on order), or
where server or tool has no ASCII letter or digit left to be told apart by.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Protocol, TypeVar

PREFIX = "mcp"
MAX_NAME = 64
"""Longest function name that the model APIs take, in characters."""
_HASH_SIZES = (8, 16, 32)
_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")
_ILLEGAL_IN_PREFIX = re.compile(r"[^A-Za-z0-9_-]")
_BEGINNING = re.compile(r"[A-Za-z]")
_ALNUM = re.compile(r"[A-Za-z0-9]")


class Named(Protocol):
    """Anything that says which tool of which server it is."""

    @property
    def server(self) -> str: ...
    @property
    def remote_name(self) -> str: ...


T = TypeVar("T", bound=Named)


def sanitize(text: str) -> str:
    """Replace every character outside `[A-Za-z0-9_]` by `_`."""
    return _ILLEGAL.sub("_", text)


def server_prefix(server: str) -> str:
    """Return what the names of a server's tools begin with: `mcp_<server>_`."""
    return f"{PREFIX}_{sanitize(server)}_"


def plain_name(server: str, tool: str, prefix: str | None = None) -> str:
    """Return the name that a tool has when nothing stands against it."""
    if prefix is None:
        return server_prefix(server) + sanitize(tool)
    name = _ILLEGAL_IN_PREFIX.sub("_", prefix) + sanitize(tool)
    return name if _BEGINNING.match(name) else f"{PREFIX}_{name}"


def assign_names(tools: Iterable[T], *, prefix: str | None = None) -> dict[str, T]:
    """Return `{public name: tool}`, whatever the order of the tools.

    Of several tools with the same server and remote name the first is kept. A `prefix` that
    somebody has chosen takes the place of `mcp_<server>_`.
    """
    unique: dict[tuple[str, str], T] = {}
    for tool in tools:
        unique.setdefault((tool.server, tool.remote_name), tool)
    plain = {key: plain_name(*key, prefix) for key in unique}
    sizes = {key: _first_size(plain[key], key if prefix is None else key[1:]) for key in unique}
    while clashes := _clashes(plain, sizes):
        for key in clashes:
            sizes[key] = _next_size(sizes[key])
    return {_name(plain[key], key, sizes[key]): tool for key, tool in unique.items()}


def _first_size(plain: str, parts: tuple[str, ...]) -> int:
    """Return how many characters of hash a name needs by itself; `parts` must be legible in it."""
    legible = all(_ALNUM.search(part) for part in parts)
    return 0 if legible and len(plain) <= MAX_NAME else _HASH_SIZES[0]


def _next_size(size: int) -> int:
    return next(longer for longer in (*_HASH_SIZES, size + 8) if longer > size)


def _clashes(plain: dict[tuple[str, str], str], sizes: dict[tuple[str, str], int]) -> list[tuple[str, str]]:
    """Return the tools that share a name and can still be told apart by a longer hash.

    A plain name gives way before a hashed one does, so a tool that is named like the
    hashed form of another cannot push that other one about.
    """
    holders: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key, size in sizes.items():
        holders[_name(plain[key], key, size)].append(key)
    clashing: list[tuple[str, str]] = []
    for keys in holders.values():
        if len(keys) > 1:
            least = min(sizes[key] for key in keys)
            clashing += [key for key in keys if sizes[key] == least]
    return clashing


def _name(plain: str, key: tuple[str, str], size: int) -> str:
    if not size:
        return plain
    server, tool = key
    original = f"{len(server)}:{server}:{tool}".encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(original).hexdigest()[:size]
    return f"{plain[: MAX_NAME - size - 1].rstrip('_')}_{digest}"
