"""The SDK is imported when the first server starts: it takes 0.5 to 2 s, which no loop and no start may wait for."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from .aio import run_in_thread

_SEAM = "_sdk"
_brought: dict[str, ModuleType] = {}


def is_here() -> bool:
    """Tell whether `bring` would return at once."""
    return _SEAM in _brought


async def bring(name: str = _SEAM) -> ModuleType:
    """Return a module of this package that imports the SDK, imported on a thread the first time."""
    if name not in _brought:
        _brought[name] = await run_in_thread(import_module, f"{__package__}.{name}")
    return _brought[name]
