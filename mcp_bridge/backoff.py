"""Pauses that double while something keeps failing."""

from __future__ import annotations


class Backoff:
    """A pause in seconds: 0 at first, then `first`, doubling up to `most`, until `reset`."""

    def __init__(self, first: float, most: float) -> None:
        self._first = first
        self._most = most
        self.pause = 0.0
        self.count = 0

    def lengthen(self) -> float:
        """Note one more failure in a row, and return the pause after it."""
        self.count += 1
        self.pause = min(2 * self.pause, self._most) if self.pause else self._first
        return self.pause

    def reset(self) -> None:
        self.pause, self.count = 0.0, 0
