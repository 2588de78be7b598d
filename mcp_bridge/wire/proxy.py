"""Which proxy stands between us and a server."""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from .http_failure import is_loopback


def proxy_for(url: str) -> str | None:
    """Return the proxy for an address, as the environment (on Windows and macOS also the system) says."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy
