"""Who may see and call what: globs over tools, patterns over chats and users.

A chat is `<platform>:group:<id>` or `<platform>:private:<id>`, a user `<platform>:<id>`.
`None` is the owner's own program, which sees and may call everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from .server_config import ServerConfig


def is_offered(config: ServerConfig, remote_name: str, annotations: Mapping[str, Any]) -> bool:
    """Tell whether the owner's globs let a tool through; a denial wins over an allowance."""
    rules = config.tools
    if config.settings(remote_name).visibility == "hidden":
        return False
    return matches(rules.allow, remote_name, annotations) and not matches(rules.deny, remote_name, annotations)


def is_admitted(config: ServerConfig, chat: str | None, user: str | None) -> bool:
    """Tell whether a chat and a user may use a server; both must match where both are limited."""
    return _admits(config.chats, chat, _chat_pattern) and _admits(config.users, user, lambda pattern: pattern)


def matches(globs: Iterable[str], name: str, annotations: Mapping[str, Any]) -> bool:
    """Tell whether one of the globs names a tool, or one of its annotations (`@readOnly`, `@destructive`)."""
    return any(_hint(glob, annotations) if glob.startswith("@") else fnmatchcase(name, glob) for glob in globs)


def _hint(glob: str, annotations: Mapping[str, Any]) -> bool:
    """Match an annotation; without one the protocol says: not read-only, and destructive."""
    read_only = annotations.get("readOnlyHint") is True
    if glob == "@readOnly":
        return read_only
    return glob == "@destructive" and not read_only and annotations.get("destructiveHint") is not False


def _chat_pattern(pattern: str) -> str:
    """Spell out `qq:123`, which is short for `qq:group:123`."""
    platform, _, rest = pattern.partition(":")
    return f"{platform}:group:{rest}" if rest and ":" not in rest else pattern


def _admits(patterns: tuple[str, ...] | None, who: str | None, spell_out: Any) -> bool:
    if patterns is None or who is None:
        return True
    return any(fnmatchcase(who, spell_out(pattern)) for pattern in patterns)
