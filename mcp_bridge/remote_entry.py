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
    """Return an address without blanks around it. Raises `EntryError` if it is of another kind than HTTP."""
    url = text.strip()
    if not url.lower().startswith(("http://", "https://")):
        raise EntryError(key, "must begin with http:// or https://")
    return url


def why_not_address(url: str) -> str:
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


def why_not_token(token: str) -> str:
    """Return why a token cannot be sent, "" if it can."""
    if not token or token.lower() == "bearer":
        return "is empty"
    return _why_not_value(token) or ("must be a token alone, without blanks in it" if " " in token else "")


def why_not_header(name: str, value: str) -> str:
    """Return why a header cannot be sent, "" if it can; blanks around its value are not."""
    if not _NAME.fullmatch(name):
        return "is no name of a header: letters, digits and - only"
    return _why_not_value(value.strip())


def _why_not_value(value: str) -> str:
    if any(character in value for character in "\r\n\0"):
        return "must not contain line breaks"
    return "" if _VALUE.fullmatch(value) else "must be plain ASCII; is it still a placeholder?"
