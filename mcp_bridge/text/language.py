"""The language in which an owner is told what is the matter."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Literal

Language = Literal["en", "zh"]
_CHINESE = 0x04
"""Primary language of Chinese in a Windows language id (MS-LCID)."""
_PRIMARY_BITS = 0x3FF


def system_language(environ: Mapping[str, str] | None = None) -> Language:
    """Return the language of the locale, as LC_ALL, LC_MESSAGES, LANG or else Windows tells it."""
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
