"""Entries of a configuration, as an owner would write them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

Write = Callable[..., Path]
"""The fixture `write_config`."""


def odd(name: str, mode: str, *args: str, more: str = "") -> str:
    """Return the entry of a server in a misbehaving mode; `write_config` fills the places in."""
    words = ", ".join(f'"{word}"' for word in ("{odd}", mode, *args))
    return f'[mcp.servers.{name}]\ncommand = "{{python}}"\nargs = [{words}]\n{textwrap.dedent(more)}\n'
