"""What every examination here is made on."""

from __future__ import annotations

import pytest

from mcp_bridge.doctor import examination
from mcp_bridge.transport.stdio import launch


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test depend on whether it runs in a container or behind a proxy, or on programs lying about."""
    monkeypatch.setattr(examination, "in_container", lambda: False)
    monkeypatch.setattr(launch, "_usual_places", lambda env: ())
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
