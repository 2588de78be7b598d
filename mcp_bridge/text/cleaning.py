"""Make untrusted text from a server safe to show to a model or in a log.

Labels (names, descriptions) lose everything invisible. The text of results is data: it loses only what can
drive a terminal or hide instructions.
"""

from __future__ import annotations

import re
import sys
import unicodedata

ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[\]X^_][^\x07\x1b\x9c\r\n]*(?:\x07|\x1b\\|\x9c)"  # OSC and its kind with their text, such as a title
    r"|\x1bP[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # DCS, which may span lines; without an end it hides nothing
    r"|\x9b[0-?]*[ -/]*[@-~]"  # CSI in its one-character form
    r"|\x1b[ -/]*[0-~]"  # the other escapes of two or three characters
)
_SPACES = re.compile(r"[\s\x85\u2028\u2029]+")
# Letters that show nothing, and variation selectors, which can carry hidden bytes.
_BLANK_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
_INVISIBLE = re.compile(f"[{_BLANK_LETTERS}\U000e0000-\U000e0fff]")
# Removed from results: C0 except tab and line ends, DEL, bidi overrides and isolates, tag characters.
_HARMFUL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_LABEL_DROPS = frozenset({"Cc", "Cf", "Cs"})

_CODE_PAGE = "mbcs" if sys.platform == "win32" else "gb18030"
"""Encoding of programs that do not write UTF-8: on Windows the code page of the machine, else the Chinese one."""

CUT_MARK = "…"
"""Marks where a text was cut."""


def decoded(data: bytes) -> str:
    """Decode the output of a program of unknown encoding.

    It is read as UTF-8, with U+FFFD for each invalid byte. If most non-ASCII characters come out invalid,
    the code page is used instead.
    """
    try:
        return data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    if 2 * text.count("\ufffd") > len(text) - len(text.encode("ascii", "ignore")):
        try:
            return data.decode(_CODE_PAGE)
        except UnicodeDecodeError:
            pass
    return text


def escape_hidden(text: str) -> str:
    """Return the text with every character that shows nothing written out, as `\\u{200B}`.

    For what a person has to decide on: nothing in it may stay unseen.
    """
    return "".join(f"\\u{{{ord(one):04X}}}" if _is_hidden(one) else one for one in text)


def _is_hidden(character: str) -> bool:
    # Unassigned and private characters as well, and blanks other than the space: what they show is not certain.
    if character == " ":
        return False
    return unicodedata.category(character)[0] in "CZ" or _INVISIBLE.match(character) is not None


def encodable(text: str) -> str:
    """Return the text as a plain `str` that UTF-8 can carry.

    Two surrogates that form a character are joined, a lone one becomes U+FFFD.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return str(text)


def clean_label(text: str) -> str:
    """Return a name or description on one line, without control, bidi, zero-width or tag characters."""
    if text.isascii() and text.isprintable():
        return text.strip()
    text = _SPACES.sub(" ", _INVISIBLE.sub("", ANSI.sub("", encodable(text))))
    text = "".join(c for c in text if unicodedata.category(c) not in _LABEL_DROPS)
    return _SPACES.sub(" ", text).strip()


def clean_text(text: str) -> str:
    """Return a result's text without ANSI sequences, C0 controls, bidi overrides and tag characters.

    Tab, line ends, ZWJ, ZWNJ, U+0085 and U+2028/9 stay: they belong to ordinary text.
    """
    return _HARMFUL.sub("", ANSI.sub("", encodable(text)))


def truncate(text: str, limit: int) -> str:
    """Return at most `limit` characters; a text that was cut ends with `CUT_MARK`."""
    if len(text) <= limit:
        return text
    return text[: max(limit - len(CUT_MARK), 0)].rstrip() + CUT_MARK


def cut_middle(text: str, limit: int) -> str:
    """Return at most `limit` characters: head, tail, and between them how much is missing."""
    if len(text) <= limit:
        return text
    mark = f"\n… [{len(text) - limit} or more of {len(text)} characters cut] …\n"
    room = limit - len(mark)
    if room <= 0:
        return truncate(text, limit)
    head = room * 2 // 3
    tail = room - head
    return text[:head] + mark + text[len(text) - tail :]
