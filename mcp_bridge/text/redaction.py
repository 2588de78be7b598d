"""Mask secrets of the configuration in everything that is written or shown.

Secret are header values and their token part, `bearer`, userinfo and query of a URL, everything that came
through `${VAR}`, and `env` values under a name that suggests a secret. Booleans, numbers, `:-defaults` and
short values are not.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit, urlunsplit

from .cleaning import ANSI, CUT_MARK

MASK = "***"
MIN_SECRET = 6
"""Shorter values are not masked: too much ordinary text would be masked with them."""
_MIN_PART = 8
"""The same limit for one of several values in a header, since not all of them are secret."""
_MAX_CUTS = 50
"""Most cut marks looked at in one text; our own texts have at most two."""
_SECRET_NAME = re.compile(r"token|passw|secret|key|auth|credential|cookie|session|pwd", re.IGNORECASE)
_HARMLESS = re.compile(r"true|false|null|none|[+-]?\d+(\.\d+)?", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]?[a-z]{1,15}|[A-Z]{1,15}")
_KEPT_PLAIN = ("", "/", "!'()*", ";/?:@&=+$,!'()*#")
"""Characters, beside letters, left unencoded by `quote(safe='')`, `quote()`, `encodeURIComponent` and `encodeURI`."""
_LONE = "surrogatepass"  # a variable may hold bytes that are invalid in the system's encoding
_HEX = re.compile("%[0-9A-F]{2}")
_HIDDEN = re.compile(
    ANSI.pattern + "|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891"
    "\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""Characters and sequences that cleaning removes, before or after a text is masked."""


def is_secret_name(name: str) -> bool:
    """Return whether an environment variable of that name usually holds a secret."""
    return bool(_SECRET_NAME.search(name))


def is_secret_value(value: str) -> bool:
    """Return whether a value is masked at all."""
    return len(value) >= MIN_SECRET and not _HARMLESS.fullmatch(value)


def header_secrets(value: str) -> set[str]:
    """Return the secret parts of a header's value: all of it, `abc` of `Bearer abc`, a login, values of cookies."""
    if not value.strip():
        return set()
    token = value.split(None, 1)[-1]
    return {value, token} | _login(value, token) | set(filter(_is_token, _values(value)))


def _login(value: str, token: str) -> set[str]:
    """Return the password in `Basic dXNlcjpwYXNz`, and user and password together."""
    if not value.lower().startswith("basic "):
        return set()
    try:
        pair = base64.b64decode(token).decode()
    except (binascii.Error, ValueError):
        return set()
    return {pair, pair.partition(":")[2]}


def _values(value: str) -> list[str]:
    """Return each value of `name=value; name="value"`."""
    pairs = (part.partition("=") for part in value.split(";"))
    return [found.strip().strip('"') for _, mark, found in pairs if mark]


def _is_token(value: str) -> bool:
    return len(value) >= _MIN_PART and not _WORD.fullmatch(value)


def url_secrets(url: str) -> set[str]:
    """Return userinfo and query values of a URL, encoded and plain, and the login as a Basic header sends it."""
    try:
        parts = urlsplit(url)
        login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        found = {parts.username or "", parts.password or "", parts.query}
    except ValueError:
        return set()
    found |= {pair.partition("=")[2] for pair in parts.query.split("&")}
    found |= {plain(one) for one in found for plain in (unquote, unquote_plus)}
    return found | ({base64.b64encode(login.encode()).decode("ascii")} if len(login) > 1 else set())


def public_url(url: str) -> str:
    """Return a URL without userinfo, query and fragment."""
    try:
        parts = urlsplit(url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    except ValueError:
        return "an address that cannot be read"


def masked_value(value: Any, redact: Callable[[str], str]) -> Any:
    """Return a JSON value with every string in it masked, keys included."""
    match value:
        case str():
            return redact(value)
        case dict():
            return {redact(key): masked_value(item, redact) for key, item in value.items()}
        case list():
            return [masked_value(item, redact) for item in value]
        case _:
            return value


class Redactor:
    """Masks secrets in a text, also those with hidden characters in them and those cut at a `CUT_MARK`.

    A text may therefore be cleaned and cut before it is masked, or after.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._pieces: set[str] = set()
        """Every part of a secret that is `MIN_SECRET` characters long."""
        self._pattern: re.Pattern[str] | None = None
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Add secrets. They are never removed: earlier text may still be displayed."""
        for secret in secrets:
            if is_secret_value(secret.strip()):
                # A secret leaks percent-encoded and JSON-escaped as well.
                self._known |= _spellings(secret.strip())
        for secret in self._known:
            self._pieces.update(secret[at : at + MIN_SECRET] for at in range(len(secret) - MIN_SECRET + 1))
        longest_first = sorted(self._known, key=lambda secret: (-len(secret), secret))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def __call__(self, text: str) -> str:
        if self._pattern is None:
            return text
        text = self._pattern.sub(MASK, text)
        if (text.isascii() and text.isprintable()) or not _HIDDEN.search(text):
            return _masked_at(text, self._cut(text)) if CUT_MARK in text else text
        places = [place for start, end in _shown(text) for place in range(start, end)]
        bare = "".join(text[place] for place in places)
        spans = [match.span() for match in self._pattern.finditer(bare)] + self._cut(bare)
        return _masked_at(text, [(places[start], places[end - 1] + 1) for start, end in spans])

    def _cut(self, text: str) -> list[tuple[int, int]]:
        """Return the spans beside cut marks that are the beginning or the end of a secret."""
        found = []
        for mark in islice(re.finditer(CUT_MARK, text), _MAX_CUTS):
            before, behind = mark.span()
            if text[max(before - MIN_SECRET, 0) : before] in self._pieces:
                sizes = (_overlap(text[:before], secret) for secret in self._known)
                found += [(before - size, before) for size in sizes if size]
            if text[behind : behind + MIN_SECRET] in self._pieces:
                sizes = (_overlap(secret, text[behind:]) for secret in self._known)
                found += [(behind, behind + size) for size in sizes if size]
        return found


def _overlap(left: str, right: str) -> int:
    """Return how many characters at the end of `left` begin `right`, 0 if fewer than `MIN_SECRET`."""
    longest = min(len(left), len(right))
    return next((size for size in range(longest, MIN_SECRET - 1, -1) if left.endswith(right[:size])), 0)


def _shown(text: str) -> Iterable[tuple[int, int]]:
    """Yield start and end of each piece of a text between hidden characters."""
    start = 0
    for hidden in _HIDDEN.finditer(text):
        yield start, hidden.start()
        start = hidden.end()
    yield start, len(text)


def _masked_at(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text with these spans masked; they may overlap."""
    pieces, done = [], 0
    for start, end in sorted(spans):
        if end > done:
            pieces += [text[done : max(start, done)], MASK if start >= done else ""]
            done = end
    return "".join([*pieces, text[done:]])


def _spellings(secret: str) -> set[str]:
    """Return the forms in which programs write a secret: plain, percent-encoded, inside JSON."""
    in_json = json.dumps(secret, ensure_ascii=False)[1:-1]
    ascii_json = json.dumps(secret)[1:-1]
    encoded = {quote(secret, safe=safe, errors=_LONE) for safe in _KEPT_PLAIN} | {quote_plus(secret, errors=_LONE)}
    encoded |= {_HEX.sub(lambda found: found.group().lower(), one) for one in encoded}
    return {secret, in_json, ascii_json, ascii_json.replace("/", "\\/"), *encoded}
