"""Where a remote server is, and what it is sent with each request, as they are read from a server's table.

What no request could carry is told here, with its key: on the way it would be a riddle, and tried for ever.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from .entry_error import EntryError

# RFC 9110, sections 5.1 and 5.5; what is beyond ASCII there is read differently by every server.
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")


def read_address(key: str, text: str) -> str:
    """Return an address of HTTP. Raises `EntryError`."""
    url = text.strip()
    if not url.lower().startswith(("http://", "https://")):
        raise EntryError(key, "must begin with http:// or https://")
    if any(character.isspace() or not character.isprintable() for character in url):
        raise EntryError(key, "must not contain blanks or line breaks")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise EntryError(key, f"is no address: {str(error)[:100]}") from None
    if not host or port == 0:
        raise EntryError(key, "names no host" if not host else "is no address: there is no port 0")
    return url


def read_token(key: str, text: str) -> str:
    """Return a token without the word `Bearer`, which is sent before it. Raises `EntryError`."""
    token = text.strip()
    word, _, rest = token.partition(" ")
    if word.lower() == "bearer":
        token = rest.strip()
    if not token:
        raise EntryError(key, "is empty")
    _check_value(key, token)
    if " " in token:
        raise EntryError(key, "must be a token alone, without blanks in it")
    return token


def read_header(key: str, name: str, text: str) -> str:
    """Return the value of a header. Raises `EntryError` for a value or a name that cannot be sent."""
    if not _NAME.fullmatch(name):
        raise EntryError(key, "is no name of a header: letters, digits and - only")
    value = text.strip()
    _check_value(key, value)
    return value


def _check_value(key: str, value: str) -> None:
    if any(character in value for character in "\r\n\0"):
        raise EntryError(key, "must not contain line breaks")
    if not _VALUE.fullmatch(value):
        raise EntryError(key, "must be plain ASCII; is it still a placeholder?")
