"""Where a request goes: origins, redirects and proxies."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from ... import _sdk
from ...text.redaction import public_url
from .failure import is_loopback, phrase

httpx = _sdk.httpx


def origin(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port. Raises `ValueError` if the address cannot be read."""
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or default


def redirect_target(response: Any) -> str:
    """Return the address that a redirect leads to, "" if it names none or an invalid one."""
    location = response.headers.get("location", "")
    try:
        address = urljoin(str(response.request.url), location)
        origin(address)
        return str(httpx.URL(address)) if location else ""
    except (ValueError, httpx.InvalidURL):
        return ""


def not_followed(response: Any) -> str:
    """Describe a redirect that was not followed."""
    if target := public_url(redirect_target(response)):
        return f"redirected to another address, {target}; set url to it if that is right"
    what = "a redirect to an invalid address" if "location" in response.headers else "a redirect without an address"
    return f"{phrase(response.status_code)} from {public_url(str(response.request.url))}, {what}"


def proxy_for(url: str) -> str | None:
    """Return the proxy for an address, None for a direct connection; never one for this machine.

    It is read from the environment, on Windows and macOS also from the system settings.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy
