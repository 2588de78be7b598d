"""Cause and fix of one thing that can be wrong, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..texts import Words


@dataclass(frozen=True)
class Advice:
    """Cause and fix of one case; `{message}` stands for what the core says, others for values of the case."""

    cause: tuple[str, str]
    fix: tuple[str, str]

    def told(self, words: Words, values: Mapping[str, object]) -> tuple[str, str]:
        """Return cause and fix in one language."""
        return words.pick(*self.cause).format(**values), words.pick(*self.fix).format(**values)


def case(zh_cause: str, fix: str, zh_fix: str, *, en: str = "{message}") -> Advice:
    """Return advice; the core's own text is the English cause where nothing better is said."""
    return Advice((en, f"{zh_cause}（{{message}}）"), (fix, zh_fix))
