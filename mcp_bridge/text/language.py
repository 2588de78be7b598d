"""Texts for the owner in English and Chinese, and the language of the system."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Language = Literal["en", "zh"]
_CHINESE = 0x04
"""Primary language of Chinese in a Windows language id (MS-LCID)."""
_PRIMARY_BITS = 0x3FF


@dataclass(frozen=True)
class Text:
    """One text in both languages; `{name}` marks a value that `Texts` fills in."""

    en: str
    zh: str


class Texts:
    """The texts of a catalogue in one language: `texts("on", name="files")` returns one of them, filled in."""

    def __init__(self, catalogue: Mapping[str, Text], language: Language) -> None:
        self._catalogue = catalogue
        self.language = language

    def __call__(self, text_id: str, /, **values: object) -> str:
        """Return a text. Raises `KeyError` for an unknown id or a missing value."""
        return self.fill(self._catalogue[text_id], values)

    def fill(self, text: Text, values: Mapping[str, object]) -> str:
        """Return any text in this language, filled in. Raises `KeyError` for a missing value."""
        return (text.zh if self.language == "zh" else text.en).format(**values)


def system_language(environ: Mapping[str, str] | None = None) -> Language:
    """Return the language of LC_ALL, LC_MESSAGES or LANG, whichever is set first; else that of Windows."""
    environ = os.environ if environ is None else environ
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if locale := environ.get(variable):
            return "zh" if locale.lower().startswith("zh") else "en"
    return "zh" if _windows_is_chinese() else "en"


def _windows_is_chinese() -> bool:
    if sys.platform != "win32":
        return False
    import ctypes

    return ctypes.windll.kernel32.GetUserDefaultUILanguage() & _PRIMARY_BITS == _CHINESE
