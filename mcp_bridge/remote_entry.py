"""Where a remote server is, and what it is sent with each request, as they are read from a server's table.

What no request could carry is told here, with its key: on the way it would be a riddle, and tried for ever.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from .entry_error import EntryError, Impossible

# RFC 9110, sections 5.1 and 5.5; what is beyond ASCII there is read differently by every server.
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")


def read_address(key: str, text: str) -> str:
    """Return an address without blanks around it. Raises `EntryError` if it is of another kind than HTTP."""
    url = text.strip()
    if not url.lower().startswith(("http://", "https://")):
        raise EntryError(key, "must begin with http:// or https://")
    return url


def check_address(key: str, url: str) -> None:
    """Raises `Impossible` for an address that nothing can be sent to."""
    if any(character.isspace() or not character.isprintable() for character in url):
        raise Impossible(key, "must not contain blanks or line breaks")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise Impossible(key, f"is no address: {str(error)[:100]}") from None
    if not host or port == 0:
        raise Impossible(key, "names no host" if not host else "is no address: there is no port 0")


def read_token(text: str) -> str:
    """Return a token without blanks around it and the word `Bearer`, which is sent before it."""
    token = text.strip()
    word, _, rest = token.partition(" ")
    return rest.strip() if word.lower() == "bearer" else token


def check_token(key: str, token: str) -> None:
    """Raises `Impossible` for a token that cannot be sent."""
    if not token or token.lower() == "bearer":
        raise Impossible(key, "is empty")
    _check_value(key, token)
    if " " in token:
        raise Impossible(key, "must be a token alone, without blanks in it")


def check_header(key: str, name: str, value: str) -> None:
    """Raises `Impossible` for a header that cannot be sent; blanks around its value are not."""
    if not _NAME.fullmatch(name):
        raise Impossible(key, "is no name of a header: letters, digits and - only")
    _check_value(key, value.strip())


def _check_value(key: str, value: str) -> None:
    if any(character in value for character in "\r\n\0"):
        raise Impossible(key, "must not contain line breaks")
    if not _VALUE.fullmatch(value):
        raise Impossible(key, "must be plain ASCII; is it still a placeholder?")
