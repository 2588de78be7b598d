"""The failure of an HTTP request: as a text, and as data in a JSON-RPC error.

The SDK hides such failures, or ends the whole session with an exception group. Here each becomes the
response to the request that failed, with a mark in its data that tells it from a server's own error and
that a server cannot guess.

Imports no SDK: code that runs before the SDK is loaded uses this module.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import secrets
import socket
import ssl
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from ...errors import Cause
from ...text.redaction import public_url

_MARK = f"mcp-bridge-{secrets.token_hex(8)}"
CODE = -32000
NEVER_RETRY = frozenset({401, 403})
"""Statuses that only a change of the configuration can mend."""
_PROXY_AUTHENTICATION = 407
_DOUBTFUL = frozenset({400, 401, 410})
"""Statuses other than 404 that servers send for a session they have forgotten."""
_NO_SESSION = -32001
"""The error code of the official SDKs for an unknown session; other servers use it for anything not found."""
_FORGOTTEN = re.compile(
    r"\b(unknown|invalid|missing|expired|no valid|no transport)\b.{0,30}\bsession"
    r"|\bsession.{0,20}\b(not found|(not|n't) exist|unknown|invalid|missing|expired|terminated|required)\b"
    r"|\b(not initialized|before initialization)\b"
    r"|会话.{0,8}(不存在|过期|失效|无效)|(未知|无效|过期|缺少).{0,4}会话",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"(0x[0-9a-f]+|\d+)(\.(0x[0-9a-f]+|\d+)){0,3}")
_MAX_CAUSES = 20
_HINTS = {
    401: "check the token in headers or bearer",
    403: "check the token in headers or bearer",
    404: "check the path of the url",
    405: "check the path of the url, or set transport",
}


@dataclass(frozen=True)
class HttpFailure:
    """A failed HTTP request.

    `expired`: the server has forgotten the session. `doubtful`: it has probably done so.
    """

    text: str
    status: int | None = None
    expired: bool = False
    doubtful: bool = False
    cause: Cause | None = None

    @property
    def retry(self) -> bool:
        return self.status not in NEVER_RETRY

    def as_error(self) -> dict[str, Any]:
        """Return the JSON-RPC error that carries this failure through the SDK."""
        return {"code": CODE, "message": self.text, "data": {_MARK: asdict(self)}}


def failure_in(data: object) -> HttpFailure | None:
    """Return the failure in the `data` of an error, None if the error is the server's own."""
    mark = data.get(_MARK) if isinstance(data, Mapping) else None
    return HttpFailure(**mark) if isinstance(mark, dict) else None


def is_doubtful(status: int, text: str) -> bool:
    """Tell whether a refusal that names no request may mean that the server has forgotten the session.

    The specification requires 404. The official TypeScript examples and servers derived from them send 400,
    others 401 or 410, or a text that says so under any status.
    """
    return status in _DOUBTFUL or _FORGOTTEN.search(text) is not None


def is_forgotten(error: Mapping[str, Any]) -> bool:
    """Tell whether a JSON-RPC error means that the session is unknown, by its text or by the SDKs' error code."""
    text = str(error.get("message", ""))
    return _FORGOTTEN.search(text) is not None or (error.get("code") == _NO_SESSION and "session" in text.lower())


def phrase(status: int) -> str:
    """Return a status with its name, `404 Not Found`."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def from_status(
    status: int, url: str, *, detail: str = "", expired: bool = False, doubtful: bool = False
) -> HttpFailure:
    """Return the failure for an HTTP status; `detail` is the server's own text, cleaned and masked."""
    text = f"{phrase(status)} from {public_url(url)}"
    if detail and detail.lower() not in phrase(status).lower():
        text += f": {detail}"
    if status in _HINTS and not expired:
        text += f"; {_HINTS[status]}"
    cause: Cause = "proxy" if status == _PROXY_AUTHENTICATION else "status"
    return HttpFailure(text, status, expired, doubtful, cause)


def from_exception(error: BaseException, url: str, proxy: str | None = None) -> HttpFailure:
    """Return the failure for an exception of the HTTP client, by its root cause.

    With a `proxy`, failures to connect are the proxy's.
    """
    where = public_url(url)
    host = urlsplit(url).hostname or ""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            hint = "set ca_file to its certificate authority"
            text = f"the certificate of {where} is not trusted: {cause.verify_message}; {hint}"
            return HttpFailure(text, cause="certificate")
        if isinstance(cause, ssl.SSLError):
            return HttpFailure(f"the TLS connection to {where} failed: {cause.reason or cause}", cause="tls")
        if proxy is not None and isinstance(cause, (socket.gaierror, ConnectionRefusedError)):
            what = "refuses connections" if isinstance(cause, ConnectionRefusedError) else "cannot be found"
            return HttpFailure(f"proxy {public_url(proxy)}, used for {where}, {what}", cause="proxy")
        if isinstance(cause, socket.gaierror):
            return HttpFailure(f"the host name '{host}' in {where} cannot be found", cause="host")
        if isinstance(cause, ConnectionRefusedError):
            inside = " (inside a container this is the container itself)" if is_loopback(host) else ""
            text = f"connection refused by {where}; is the server running?{inside}"
            return HttpFailure(text, cause="refused")
    return HttpFailure(f"no answer from {where}: {_reason(error)}", cause="connection")


def root_cause(error: BaseException) -> BaseException:
    """Return the exception inside the exception groups that task groups have wrapped around it."""
    for _ in range(_MAX_CAUSES):
        inner = [one for one in getattr(error, "exceptions", ()) if not isinstance(one, asyncio.CancelledError)]
        if not inner:
            break
        error = inner[0]
    return error


def _reason(error: BaseException) -> str:
    """Return the operating system's text if there is one: HTTP clients report "all attempts failed", or nothing."""
    causes = _causes(error)
    texts = [one.strerror for one in causes if isinstance(one, OSError) and one.errno and one.strerror]
    error = next((root_cause(one) for one in causes if hasattr(one, "exceptions")), error)
    if texts or str(error):
        return (texts or [str(error)])[0]
    return "it took too long" if type(error).__name__.endswith(("Timeout", "TimeoutError")) else "the connection broke"


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address, in any notation, means this machine."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        # inet_aton also reads the short and hexadecimal forms of IPv4 that the system accepts: 127.1, 0x7f000001.
        address = ipaddress.ip_address(socket.inet_aton(name) if _NUMBERS.fullmatch(name) else name)
    except (ValueError, OSError):
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    queue = [error]
    while queue and len(found) < _MAX_CAUSES:
        one = queue.pop(0)
        if one is not None and one not in found:
            found.append(one)
            queue += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
    return found
