"""What is wrong with a server's entry in the configuration, while it is read."""

from __future__ import annotations


class EntryError(Exception):
    """What is wrong with an entry; `key` is the path inside it (`env.PORT`)."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class NoTarget(EntryError):
    """The entry names neither program nor address."""


def kind(value: object) -> str:
    """Return what a value of the file is called: `a list`."""
    names = {"dict": "a table", "list": "a list", "str": "a string", "bool": "true/false", "int": "a number"}
    return names.get(type(value).__name__, f"a {type(value).__name__}")
