"""The authorities that a server's certificate is checked against."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from mcp_bridge.transport.http.certificates import trusted

AUTHORITY = """\
-----BEGIN CERTIFICATE-----
MIIBejCCAR+gAwIBAgIUDT8qhCDCi3/c31Kn1k2wkrAJZpYwCgYIKoZIzj0EAwIw
ETEPMA0GA1UEAwwGbm9ib2R5MCAXDTI2MTEyODA3MDMzMFoYDzIxMjYxMTA0MDcw
MzMwWjARMQ8wDQYDVQQDDAZub2JvZHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AATjk9e9NqZaRcmpkP9Xk2hKuNjoKgjIPw4X3ybVCF5CdRyX+k+9fTc29K1bfVUz
o9Aao8kshLausE3KW2uKfP/zo1MwUTAdBgNVHQ4EFgQUp9NpTBBbi1ZwY485QQNr
cB/stGQwHwYDVR0jBBgwFoAUp9NpTBBbi1ZwY485QQNrcB/stGQwDwYDVR0TAQH/
BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEAzVu3xKEZ3oCoZQ4Tv2hvZBJjpKeQ
Xl5/+iHkEOCieEQCIQDDt9BKQCrqIY3o64TnFZPt/P6LmzKYs4B4s2bUv+9hrw==
-----END CERTIFICATE-----
"""


def test_the_authorities_are_read_once_and_not_for_each_session() -> None:
    assert trusted("") is trusted("")
    assert trusted("").verify_mode is ssl.CERT_REQUIRED
    assert trusted("").check_hostname


def test_a_file_of_the_owners_is_read_anew_when_it_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text(AUTHORITY)
    first = trusted(str(file))
    assert first is trusted(str(file))
    assert first is not trusted("")
    file.write_text("no certificate")
    with pytest.raises(ssl.SSLError):
        trusted(str(file))


def test_a_file_that_is_not_there_is_told_each_time(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            trusted(str(tmp_path / "none.pem"))


def test_other_usual_authorities_are_used_as_soon_as_they_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = trusted("")
    file = tmp_path / "ca.pem"
    file.write_text(AUTHORITY)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    assert trusted("") is not usual
