"""Read single values of a server entry. Each reader returns the checked value or raises `EntryError`."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from .mistakes import EntryError, kind
from .server_config import Rate, RateLimits, ToolSettings, Visibility

_VISIBILITIES = ("visible", "deferred", "hidden")
_UNITS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400}
_RATE = re.compile(r"\s*(\d+)\s*/\s*(\d*)\s*([a-z]+?)\s*", re.IGNORECASE)


def read_rates(key: str, value: object) -> RateLimits:
    """Read `rate = { chat = "20/min", user = "5/min" }`."""
    if not isinstance(value, Mapping) or set(value) - {"chat", "user"}:
        raise EntryError(key, 'must be a table such as { chat = "20/min", user = "5/min" }')
    return RateLimits(**{who: _rate(f"{key}.{who}", text) for who, text in value.items()})


def read_overrides(key: str, value: object) -> dict[str, ToolSettings]:
    """Read the table `override`, which holds a table for each tool, by the server's own name for it."""
    if not isinstance(value, Mapping):
        raise EntryError(key, f"must be a table of tools, not {kind(value)}")
    return {str(tool): _settings(f"{key}.{tool}", table) for tool, table in value.items()}


def read_seconds(key: str, value: object) -> float:
    """Read a number of seconds above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise EntryError(key, "must be a number of seconds above 0")
    return float(value)


def _rate(key: str, value: object) -> Rate:
    match = _RATE.fullmatch(value) if isinstance(value, str) else None
    unit = _UNITS.get(match[3].lower()) if match else None
    calls, times = (int(match[1]), int(match[2] or 1)) if match else (0, 0)
    if unit is None or not calls or not times:
        raise EntryError(key, "must be a rate such as '20/min', '5/10s', '100/h' or '300/day'")
    return Rate(calls, float(times * unit))


def _settings(path: str, table: object) -> ToolSettings:
    if not isinstance(table, Mapping) or set(table) - _SETTINGS.keys():
        raise EntryError(path, f"must be a table with some of {', '.join(_SETTINGS)}")
    return ToolSettings(**{key: _SETTINGS[key](f"{path}.{key}", value) for key, value in table.items()})


def _description(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise EntryError(key, f"must be a string, not {kind(value)}")
    if not value.strip():
        raise EntryError(key, "is empty")
    return value


def _visibility(key: str, value: object) -> Visibility:
    if value not in _VISIBILITIES:
        raise EntryError(key, f"must be one of {', '.join(_VISIBILITIES)}")
    return cast("Visibility", value)


_SETTINGS: Mapping[str, Callable[[str, object], Any]] = {
    "description": _description,
    "call_timeout": read_seconds,
    "visibility": _visibility,
}

# RFC 9110, sections 5.1 and 5.5; what is beyond ASCII there is read differently by every server.
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")


def read_address(key: str, text: str) -> str:
    """Return an address without blanks around it. Raises `EntryError` if it is of another kind than HTTP."""
    url = text.strip()
    if not url.lower().startswith(("http://", "https://")):
        raise EntryError(key, "must begin with http:// or https://")
    return url


def address_objection(url: str) -> str:
    """Return why nothing can be sent to an address, "" if it can."""
    if any(character.isspace() or not character.isprintable() for character in url):
        return "must not contain blanks or line breaks"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        return f"is no address: {str(error)[:100]}"
    if not host:
        return "names no host"
    return "is no address: there is no port 0" if port == 0 else ""


def read_token(text: str) -> str:
    """Return a token without blanks around it and the word `Bearer`, which is sent before it."""
    token = text.strip()
    word, _, rest = token.partition(" ")
    return rest.strip() if word.lower() == "bearer" else token


def token_objection(token: str) -> str:
    """Return why a token cannot be sent, "" if it can."""
    if not token or token.lower() == "bearer":
        return "is empty"
    return _value_objection(token) or ("must be a token alone, without blanks in it" if " " in token else "")


def header_objection(name: str, value: str) -> str:
    """Return why a header cannot be sent, "" if it can; blanks around its value are not."""
    if not _NAME.fullmatch(name):
        return "is no name of a header: letters, digits and - only"
    return _value_objection(value.strip())


def _value_objection(value: str) -> str:
    if any(character in value for character in "\r\n\0"):
        return "must not contain line breaks"
    return "" if _VALUE.fullmatch(value) else "must be plain ASCII; is it still a placeholder?"


ANNOTATIONS = ("@readOnly", "@destructive")
"""What globs can ask of a tool's annotations."""
_EXAMPLES = {"chats": "qq:123456 or qq:private:42", "users": "qq:42"}


def read_patterns(key: str, value: object) -> tuple[str, ...]:
    """Read a list of texts, or a single one."""
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise EntryError(key, "must be a list of strings")
    return tuple(value)


def read_globs(key: str, value: object) -> tuple[str, ...]:
    """Read globs over tools; annotations are taken in any case of letters."""
    return tuple(_annotation(key, glob) if glob.startswith("@") else glob for glob in read_patterns(key, value))


def read_callers(key: str, value: object, warn: Callable[[str], None]) -> tuple[str, ...]:
    """Read patterns over chats or users; `warn` is told of each that names none."""
    patterns = read_patterns(key, value)
    for pattern in patterns:
        if ":" not in pattern and not pattern.startswith(("*", "?", "[")):
            warn(f"{key}: '{pattern}' matches nobody, since its platform is missing; write {_EXAMPLES[key]}")
    return patterns


def _annotation(key: str, glob: str) -> str:
    for known in ANNOTATIONS:
        if glob.lower() == known.lower():
            return known
    near = difflib.get_close_matches(glob, ANNOTATIONS, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"there are {' and '.join(ANNOTATIONS)}"
    raise EntryError(key, f"'{glob}' is no annotation of tools; {hint}")
