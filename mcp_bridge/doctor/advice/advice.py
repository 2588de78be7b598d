"""Cause and fix of one kind of failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...text.language import Text, Texts


@dataclass(frozen=True)
class Advice:
    """Cause and fix. `{message}` is the error itself, in English; other values depend on the failure.

    Where the error already says everything, the English cause is `{message}` alone.
    """

    cause: Text
    fix: Text

    def filled(self, texts: Texts, values: Mapping[str, object]) -> tuple[str, str]:
        """Return cause and fix in the language of `texts`. Raises `KeyError` for a missing value."""
        return texts.fill(self.cause, values), texts.fill(self.fix, values)
