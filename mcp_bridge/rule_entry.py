"""Globs over tools, and patterns over chats and users, as they are read from a server's table.

A rule that can never match is told at once: what its owner meant to keep out, or to ask for, would go unguarded.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable

from .entry_error import EntryError

ANNOTATIONS = ("@readOnly", "@destructive")
"""What globs can ask of a tool's annotations."""
_EXAMPLES = {"chats": "qq:123456 or qq:private:42", "users": "qq:42"}


def read_patterns(key: str, value: object) -> tuple[str, ...]:
    """Read a list of texts, or a single one."""
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise EntryError(key, "must be a list of strings")
    return tuple(value)


def read_globs(key: str, value: object) -> tuple[str, ...]:
    """Read globs over tools; annotations are taken in any case of letters."""
    return tuple(_annotation(key, glob) if glob.startswith("@") else glob for glob in read_patterns(key, value))


def read_callers(key: str, value: object, warn: Callable[[str], None]) -> tuple[str, ...]:
    """Read patterns over chats or users; `warn` is told of each that names none."""
    patterns = read_patterns(key, value)
    for pattern in patterns:
        if ":" not in pattern and not pattern.startswith(("*", "?", "[")):
            warn(f"{key}: '{pattern}' matches nobody, since its platform is missing; write {_EXAMPLES[key]}")
    return patterns


def _annotation(key: str, glob: str) -> str:
    for known in ANNOTATIONS:
        if glob.lower() == known.lower():
            return known
    near = difflib.get_close_matches(glob, ANNOTATIONS, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"there are {' and '.join(ANNOTATIONS)}"
    raise EntryError(key, f"'{glob}' is no annotation of tools; {hint}")
