"""JSON as people keep it in their editors: with comments and trailing commas.

What is taken out becomes blanks, so that line and column of an error stay true.
"""

from __future__ import annotations

import json
import re

# A string is matched first, so that what looks like a comment or a comma inside it stays. What is not
# ended is matched to the end, so that it is looked at only once.
_STRING = r'"(?:[^"\\\n]|\\.)*"?'
_COMMENT = re.compile(rf"{_STRING}|(?P<out>//[^\n]*|/\*(?:.*?\*/|.*))", re.DOTALL)
_COMMA = re.compile(rf"{_STRING}|(?P<out>,)(?=\s*[\]}}])", re.DOTALL)
_VISIBLE = re.compile(r"\S")


def loads(text: str) -> object:
    """Return the value of the text; of a name given twice the last value counts.

    Raises `json.JSONDecodeError` with line and column, or `RecursionError` for text nested too deeply.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return json.loads(_COMMA.sub(_blank, _COMMENT.sub(_blank, text)))


def _blank(match: re.Match[str]) -> str:
    return match.group() if match["out"] is None else _VISIBLE.sub(" ", match.group())
