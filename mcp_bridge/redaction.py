"""Secrets of the configuration, kept out of everything that is written or shown.

What counts as secret: header values and their token part, `bearer`, userinfo and
query of an address, everything that came through `${VAR}`, and `env` values under a
name that looks like one. Not booleans, numbers, `:-defaults`, nor anything short.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, unquote, urlsplit, urlunsplit

MASK = "***"
MIN_SECRET = 6
"""Shorter values are not masked: they would turn ordinary text into asterisks."""
_SECRET_NAME = re.compile(r"token|passw|secret|key|auth|credential|cookie|session|pwd", re.IGNORECASE)
_HARMLESS = re.compile(r"true|false|null|none|[+-]?\d+(\.\d+)?", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Tell whether an environment variable of that name usually holds a secret."""
    return bool(_SECRET_NAME.search(name))


def is_secret_value(value: str) -> bool:
    """Tell whether a value is worth masking at all."""
    return len(value) >= MIN_SECRET and not _HARMLESS.fullmatch(value)


def header_secrets(value: str) -> set[str]:
    """Return a header's value and the token in it: `Bearer abc` holds `abc`."""
    return {value, value.split(None, 1)[-1]} if value.strip() else set()


def url_secrets(url: str) -> set[str]:
    """Return userinfo and query values of an address, encoded and plain, and the login as it is sent."""
    try:
        parts = urlsplit(url)
        login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        found = {parts.username or "", parts.password or "", parts.query}
    except ValueError:
        return set()
    found |= {pair.partition("=")[2] for pair in parts.query.split("&")}
    found |= {unquote(one) for one in found}
    return found | ({base64.b64encode(login.encode()).decode("ascii")} if len(login) > 1 else set())


def public_url(url: str) -> str:
    """Return an address without userinfo, query and fragment."""
    try:
        parts = urlsplit(url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    except ValueError:
        return "an address that cannot be read"


class Redactor:
    """Masks secrets in any text."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Mask these, too; none is ever forgotten, since what was said before may still be shown."""
        for secret in secrets:
            if is_secret_value(secret.strip()):
                # A secret also leaks percent-encoded, or escaped inside JSON.
                self._known |= _spellings(secret.strip())
        longest_first = sorted(self._known, key=lambda secret: (-len(secret), secret))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def __call__(self, text: str) -> str:
        return self._pattern.sub(MASK, text) if self._pattern else text


def _spellings(secret: str) -> set[str]:
    """Return the forms in which programs write a secret: plain, percent-encoded, inside JSON."""
    in_json = json.dumps(secret, ensure_ascii=False)[1:-1]
    ascii_json = json.dumps(secret)[1:-1]
    return {secret, quote(secret, safe=""), in_json, ascii_json, ascii_json.replace("/", "\\/")}
