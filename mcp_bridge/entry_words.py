"""What other programs, and people, write in place of what a server's table wants."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable

ALIASES = {"type": "transport"}
_OTHER_WORDS = {
    **dict.fromkeys(("serverurl", "baseurl", "httpurl", "endpoint", "address"), "url"),
    **dict.fromkeys(("environment", "envs", "env_vars"), "env"),
    **dict.fromkeys(("authorization", "token", "apikey", "api_key"), "bearer"),
    **dict.fromkeys(("cmd", "program", "executable"), "command"),
    **dict.fromkeys(("workdir", "workingdirectory", "working_dir", "directory"), "cwd"),
    **dict.fromkeys(("arguments", "argv"), "args"),
}
"""What other programs call our keys, in lower case."""
_FOREIGN = {
    "timeout": "; the limit of a call is call_timeout",
    "envFile": "; name the variables in env",
    "autoApprove": "",
    "alwaysAllow": "",
}
"""What other programs have in their files, and what to write instead."""


def odd_keys(given: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return a warning for each key that is none of the known ones, with the one that was meant perhaps."""
    keys = (*known, *ALIASES)
    warnings: list[str] = []
    for key in given:
        if key in _FOREIGN:
            warnings.append(f"key '{key}' of other programs is not taken over{_FOREIGN[key]}")
        elif key not in keys and key not in ("disabled", "description"):
            other = _OTHER_WORDS.get(key.lower())
            near = [other] if other else difflib.get_close_matches(key.lower(), keys, n=1)
            hint = f", did you mean '{near[0]}'?" if near else ""
            warnings.append(f"unknown key '{key}'{hint}")
    return warnings


def as_words(text: str) -> list[str]:
    """Return the arguments that somebody has written as one text."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", ""  # backslashes are of Windows' paths
    try:
        return list(lexer)
    except ValueError:
        return text.split()
