"""Read single values of a server entry.

Each `read_*` function returns the checked value or raises `EntryError`; each `*_objection` function
returns why a value of the right type can never work, "" if it can.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from .mistakes import EntryError, type_name
from .server_config import (
    ELICITATIONS,
    SESSION_STRATEGIES,
    TRANSPORTS,
    VISIBILITIES,
    Elicitation,
    Rate,
    RateLimits,
    SessionStrategy,
    ToolRules,
    ToolSettings,
    Transport,
    Visibility,
)

_Choice = TypeVar("_Choice", bound=str)


def read_boolean(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise EntryError(key, f"must be true or false, not {type_name(value)}")
    return value


def read_count(key: str, value: object, least: int = 1) -> int:
    """Read a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise EntryError(key, f"must be a whole number, at least {least}")
    return value


def read_spare_count(key: str, value: object) -> int:
    """Read a whole number that may be 0."""
    return read_count(key, value, least=0)


def read_seconds(key: str, value: object) -> float:
    """Read a number of seconds above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise EntryError(key, "must be a number of seconds above 0")
    return float(value)


def read_choice(key: str, value: object, allowed: tuple[_Choice, ...]) -> _Choice:
    """Read one of the allowed words."""
    for one in allowed:
        if value == one:
            return one
    raise EntryError(key, f"must be one of {', '.join(allowed)}")


def read_session(key: str, value: object) -> SessionStrategy:
    return read_choice(key, value, SESSION_STRATEGIES)


def read_elicitation(key: str, value: object) -> Elicitation:
    return read_choice(key, value, ELICITATIONS)


def read_transport(key: str, value: object) -> Transport:
    """Read the name of a transport in any of its spellings."""
    return TRANSPORTS[read_choice(key, value, tuple(TRANSPORTS))]


_UNITS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400}
_RATE = re.compile(r"\s*(\d+)\s*/\s*(\d*)\s*([a-z]+?)\s*", re.IGNORECASE)


def read_rates(key: str, value: object) -> RateLimits:
    """Read `rate = { chat = "20/min", user = "5/min" }`."""
    if not isinstance(value, Mapping) or set(value) - {"chat", "user"}:
        raise EntryError(key, 'must be a table such as { chat = "20/min", user = "5/min" }')
    return RateLimits(**{side: _rate(f"{key}.{side}", text) for side, text in value.items()})


def read_overrides(key: str, value: object) -> dict[str, ToolSettings]:
    """Read `override`: a table of settings for each tool, under the server's own name for the tool."""
    if not isinstance(value, Mapping):
        raise EntryError(key, f"must be a table of tools, not {type_name(value)}")
    return {str(tool): _settings(f"{key}.{tool}", table) for tool, table in value.items()}


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
        raise EntryError(key, f"must be a string, not {type_name(value)}")
    if not value.strip():
        raise EntryError(key, "is empty")
    return value


def _visibility(key: str, value: object) -> Visibility:
    return read_choice(key, value, VISIBILITIES)


_SETTINGS: Mapping[str, Callable[[str, object], Any]] = {
    "description": _description,
    "call_timeout": read_seconds,
    "visibility": _visibility,
}

# RFC 9110, sections 5.1 and 5.5. Servers disagree on how to decode anything beyond ASCII.
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")


def read_address(key: str, text: str) -> str:
    """Read the URL of a server, without surrounding blanks."""
    url = text.strip()
    if not url.lower().startswith(("http://", "https://")):
        raise EntryError(key, "must begin with http:// or https://")
    return url


def address_objection(url: str) -> str:
    """Return why no request can be sent to a URL."""
    if any(character.isspace() or not character.isprintable() for character in url):
        return "must not contain blanks or line breaks"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        return f"is not a valid URL: {str(error)[:100]}"
    if not host:
        return "names no host"
    return "is not a valid URL: there is no port 0" if port == 0 else ""


def read_token(text: str) -> str:
    """Return a token without surrounding blanks and without a leading `Bearer`, which is added when it is sent."""
    token = text.strip()
    word, _, rest = token.partition(" ")
    return rest.strip() if word.lower() == "bearer" else token


def token_objection(token: str) -> str:
    """Return why a token cannot be sent."""
    if not token or token.lower() == "bearer":
        return "is empty"
    return _value_objection(token) or ("must be a token alone, without blanks in it" if " " in token else "")


def header_objection(name: str, value: str) -> str:
    """Return why a header cannot be sent; blanks around its value are not sent."""
    if not _NAME.fullmatch(name):
        return "is not a valid header name: use letters, digits and - only"
    return _value_objection(value.strip())


def _value_objection(value: str) -> str:
    if any(character in value for character in "\r\n\0"):
        return "must not contain line breaks"
    return "" if _VALUE.fullmatch(value) else "must be plain ASCII; is it still a placeholder?"


ANNOTATIONS = ("@readOnly", "@destructive")
"""Globs that match a tool by its annotations."""
_EXAMPLES = {"chats": "qq:123456 or qq:private:42", "users": "qq:42"}


def read_patterns(key: str, value: object) -> tuple[str, ...]:
    """Read a list of strings, or a single string."""
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise EntryError(key, "must be a list of strings")
    return tuple(value)


def read_globs(key: str, value: object) -> tuple[str, ...]:
    """Read globs over tools; the case of annotations does not matter."""
    return tuple(_annotation(key, glob) if glob.startswith("@") else glob for glob in read_patterns(key, value))


def read_callers(key: str, value: object, warn: Callable[[str], None]) -> tuple[str, ...]:
    """Read patterns over chats or users, and warn of each that can never match."""
    patterns = read_patterns(key, value)
    for pattern in patterns:
        if ":" not in pattern and not pattern.startswith(("*", "?", "[")):
            warn(f"{key}: '{pattern}' never matches, since its platform is missing; write {_EXAMPLES[key]}")
    return patterns


def read_rules(key: str, value: object) -> ToolRules:
    """Read `tools = { allow = ["*"], deny = ["delete_*"] }`."""
    if not isinstance(value, Mapping) or set(value) - {"allow", "deny"}:
        raise EntryError(key, 'must be a table such as { allow = ["*"], deny = ["delete_*"] }')
    return ToolRules(**{side: read_globs(f"{key}.{side}", globs) for side, globs in value.items()})


def read_inherit(key: str, value: object) -> bool | tuple[str, ...]:
    """Read `inherit_env`: all variables or none, or the names of some."""
    return value if isinstance(value, bool) else read_patterns(key, value)


def _annotation(key: str, glob: str) -> str:
    for known in ANNOTATIONS:
        if glob.lower() == known.lower():
            return known
    near = difflib.get_close_matches(glob, ANNOTATIONS, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"there are {' and '.join(ANNOTATIONS)}"
    raise EntryError(key, f"'{glob}' is not a known annotation; {hint}")
