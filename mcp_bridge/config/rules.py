"""Which callers may see and call which tools: globs over tools, patterns over chats and users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Protocol

from .server_config import ServerConfig


@dataclass(frozen=True)
class Caller:
    """On whose behalf tools are listed or called.

    `chat` is `<platform>:group:<id>` or `<platform>:private:<id>`, `user` is `<platform>:<id>`. A host that
    cannot tell them apart passes "", which only `*` admits. None puts no limit on that side.
    """

    chat: str | None = None
    user: str | None = None

    @property
    def is_owner_program(self) -> bool:
        """Whether neither chat nor user is given.

        The owner's own program calls like that, such as the command line: it sees and may call every tool,
        without a rate limit and without being asked for consent.
        """
        return self.chat is None and self.user is None


class NamedTool(Protocol):
    """A tool with the server's own name for it."""

    @property
    def remote_name(self) -> str: ...


def is_offered(config: ServerConfig, remote_name: str, annotations: Mapping[str, Any]) -> bool:
    """Return whether the owner's globs allow a tool; `deny` wins over `allow`."""
    rules = config.tools
    if config.settings(remote_name).visibility == "hidden":
        return False
    return matches(rules.allow, remote_name, annotations) and not matches(rules.deny, remote_name, annotations)


def is_admitted(config: ServerConfig, caller: Caller) -> bool:
    """Return whether a caller may use a server; chat and user must both match where both are limited."""
    chats = None if config.chats is None else [spelled_out(pattern) for pattern in config.chats]
    return _admits(chats, caller.chat) and _admits(config.users, caller.user)


def matches(globs: Iterable[str], name: str, annotations: Mapping[str, Any]) -> bool:
    """Return whether a glob matches a tool's name, or an annotation of it (`@readOnly`, `@destructive`)."""
    return any(_hint(glob, annotations) if glob.startswith("@") else fnmatchcase(name, glob) for glob in globs)


def unmatched_rules(config: ServerConfig, tools: Sequence[NamedTool]) -> list[str]:
    """Return the rules in `confirm`, `visible`, `override` and `tools` that match none of a server's tools.

    They are probably mistyped. In `tools` only plain names count: a pattern there may well match nothing.
    """
    names = [tool.remote_name for tool in tools]
    rules = [("confirm", glob) for glob in config.confirm]
    rules += [("visible", glob) for glob in config.visible or ()]
    rules += [("tools.allow", glob) for glob in config.tools.allow if _is_plain(glob)]
    rules += [("tools.deny", glob) for glob in config.tools.deny if _is_plain(glob)]
    unmatched = [
        f"{key} '{glob}'"
        for key, glob in rules
        if not glob.startswith("@") and not any(fnmatchcase(name, glob) for name in names)
    ]
    return unmatched + [f"override '{tool}'" for tool in config.override if tool not in names]


def _is_plain(glob: str) -> bool:
    return not any(character in glob for character in "*?[")


def _hint(glob: str, annotations: Mapping[str, Any]) -> bool:
    """Match an annotation. By default the protocol takes a tool to be destructive and not read-only."""
    # Unknown annotations are rejected when the entry is read (entry_values.py).
    read_only = annotations.get("readOnlyHint") is True
    if glob == "@readOnly":
        return read_only
    return glob == "@destructive" and not read_only and annotations.get("destructiveHint") is not False


def spelled_out(pattern: str) -> str:
    """Return `qq:group:123` for its short form `qq:123`; other patterns unchanged."""
    platform, _, rest = pattern.partition(":")
    return f"{platform}:group:{rest}" if rest and ":" not in rest else pattern


def _admits(patterns: Sequence[str] | None, identifier: str | None) -> bool:
    if patterns is None or identifier is None:
        return True
    return any(fnmatchcase(identifier, pattern) for pattern in patterns)
