"""MaiBot >= 1.0. The plugin is imported on first use: the host's SDK exists only inside the bot."""

from importlib import import_module
from typing import Any

__all__ = ["McpBridgePlugin", "create_plugin"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(".plugin", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
