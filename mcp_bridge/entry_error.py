"""What is wrong with a server's entry in the configuration, while it is read."""

from __future__ import annotations

BACKSLASH_HINT = "write Windows paths in single quotes ('C:\\dir\\x.exe') or double each backslash"
JSON_HINT = "double each backslash of Windows paths (C:\\\\dir), or write / instead"
# In double quotes, and in JSON, a backslash with a t is a tab, with an n a line end.


class EntryError(Exception):
    """What is wrong with an entry; `key` is the path inside it (`env.PORT`)."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class NoTarget(EntryError):
    """The entry names neither program nor address."""


def kind(value: object) -> str:
    """Return what a value of the file is called: `a list`."""
    if value is None:
        return "null"
    names = {"dict": "a table", "list": "a list", "str": "a string", "bool": "true/false", "int": "a number"}
    return names.get(type(value).__name__, f"a {type(value).__name__}")
