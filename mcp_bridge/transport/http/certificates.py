"""The trusted certificate authorities, read once for all sessions.

Reading them takes 60 ms of CPU time, on the loop if each HTTP session does it: all other calls would wait.
"""

from __future__ import annotations

import os
import ssl
from functools import lru_cache

from ... import _sdk

_KEPT = 16
"""How many different sets of authorities are kept."""


def trusted(ca_file: str) -> ssl.SSLContext:
    """Return a TLS context that trusts the authorities in `ca_file`, or the usual ones if that is "".

    A file that has changed is read again. Raises `OSError` or `ssl.SSLError` if it cannot be used.
    """
    file = ca_file or os.environ.get("SSL_CERT_FILE", "")
    try:
        changed_at = os.stat(file).st_mtime_ns if file else 0
    except OSError:
        changed_at = 0  # reading it will raise the error
    return _read(ca_file, changed_at, file, os.environ.get("SSL_CERT_DIR", ""))


@lru_cache(_KEPT)
def _read(ca_file: str, *version: object) -> ssl.SSLContext:
    """Read the authorities; `version` is the part of the cache key that changes when the files do."""
    if ca_file:
        return ssl.create_default_context(cafile=ca_file)
    context: ssl.SSLContext = _sdk.httpx.create_ssl_context()
    return context
