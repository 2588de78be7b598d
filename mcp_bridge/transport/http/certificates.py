"""Whose certificates are trusted, read once for all sessions.

Reading them takes 60 ms of a processor. Each session over HTTP did so, also without TLS, and
on the loop: every call of every server waited meanwhile.
"""

from __future__ import annotations

import os
import ssl
from functools import lru_cache

from ... import _sdk

_KEPT = 16
"""So many different sets are kept."""


def trusted(ca_file: str) -> ssl.SSLContext:
    """Return a context for an authority of the owner's, or the usual ones without a file.

    A file that has changed is read anew. Raises `OSError` or `ssl.SSLError` if it cannot be used.
    """
    named = ca_file or os.environ.get("SSL_CERT_FILE", "")
    try:
        changed_at = os.stat(named).st_mtime_ns if named else 0
    except OSError:
        changed_at = 0  # reading it tells what is the matter
    return _read(ca_file, changed_at, named, os.environ.get("SSL_CERT_DIR", ""))


@lru_cache(_KEPT)
def _read(ca_file: str, *version: object) -> ssl.SSLContext:
    """Read the authorities; `version` tells apart what the same name has meant at different times."""
    if ca_file:
        return ssl.create_default_context(cafile=ca_file)
    context: ssl.SSLContext = _sdk.httpx.create_ssl_context()
    return context
