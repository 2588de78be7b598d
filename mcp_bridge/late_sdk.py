"""The SDK is imported when the first server starts: it takes 0.5 to 2 s, which no loop and no start may wait for."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from .off_loop import off_loop

_seam: ModuleType | None = None


def is_here() -> bool:
    """Tell whether `bring` would return at once."""
    return _seam is not None


async def bring() -> ModuleType:
    """Return the module `_sdk`, imported on a thread the first time."""
    global _seam
    if _seam is None:
        _seam = await off_loop(import_module, f"{__package__}._sdk")
    return _seam
