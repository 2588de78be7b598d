"""Imports what needs the SDK late and on a thread: it takes 0.5 to 2 s, for which no event loop may wait."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from .aio import run_in_thread

_loaded: dict[str, ModuleType] = {}


async def load_module(name: str) -> ModuleType:
    """Return a module of this package by its name below the package, imported on a thread the first time."""
    if name not in _loaded:
        _loaded[name] = await run_in_thread(import_module, f"{__package__}.{name}")
    return _loaded[name]
