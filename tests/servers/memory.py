"""A small memory that survives the process: servers that behave differently at each start need one."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def recall(path: str | None) -> dict[str, Any]:
    """Return what is stored; nothing without a path."""
    if not path or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        stored: dict[str, Any] = json.load(file)
    return stored


def remember(path: str | None, **values: Any) -> None:
    """Store the values beside those already there."""
    if not path:
        return
    stored = {**recall(path), **values}
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(stored, file)
    os.replace(path + ".new", path)
