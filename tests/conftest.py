"""Shared by all tests: a data folder of their own, configurations, and what may not be left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.places import CALCULATOR, ODD_SERVER, ROOT, TESTS
from tests.support.processes import children

# A busy machine is no failure: examples may be slow to make and to run.
settings.register_profile(
    "busy",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=int(os.environ.get("MCP_BRIDGE_EXAMPLES", "100")),
)
settings.load_profile("busy")

GUARANTEES = (ROOT / "docs" / "guarantees.md").read_text("utf-8")
PROCESS_FOLDERS = ("faults", "integrations", "maibot", "webui", "conformance")


def pytest_configure(config: pytest.Config) -> None:
    """Forgive older SDKs the streams that they leave to the garbage collector when a connection fails."""
    if tuple(map(int, version("mcp").split(".")[:2])) < (1, 30):
        config.addinivalue_line("filterwarnings", "ignore:Unclosed <MemoryObject:ResourceWarning")


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep stored catalogues of tests away from the user's own."""
    folder = tmp_path / "data"
    monkeypatch.setenv("MCP_BRIDGE_DATA_DIR", str(folder))
    return folder


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what lies in folders where every test starts processes, and what shows a guarantee: on the real thing."""
    path = item.path.relative_to(TESTS)
    if path.parts[0] in PROCESS_FOLDERS or f"`{path.as_posix()}::{getattr(item, 'originalname', '')}`" in GUARANTEES:
        item.add_marker("process")


@pytest.fixture(autouse=True)
def servers_in_memory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run misbehaving servers in this process; fail a test that starts another and is not marked `process`."""
    if request.node.get_closest_marker("process"):
        yield
        return
    from tests.support import memory

    started: list[object] = []
    start = subprocess.Popen.__init__

    def note(popen: object, command: object, *args: Any, **options: Any) -> None:
        started.append(command)
        start(popen, command, *args, **options)  # type: ignore[call-overload]

    monkeypatch.setattr("mcp_bridge.transport.route.open_stdio", memory.open_in_memory)
    monkeypatch.setattr(os, "kill", memory.kill)
    monkeypatch.setattr(subprocess.Popen, "__init__", note)
    yield
    assert started == [], "starts processes and is not marked `process`"


@pytest.fixture
def write_config(tmp_path: Path) -> Callable[[str], Path]:
    """Write a config.toml and return its path; `{odd}` stands for the misbehaving server."""

    def write(text: str, name: str = "config.toml") -> Path:
        file = tmp_path / name
        text = textwrap.dedent(text).replace("{odd}", str(ODD_SERVER)).replace("{python}", sys.executable)
        file.write_text(text.replace("{calculator}", str(CALCULATOR)), encoding="utf-8")
        return file

    return write


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry failed starts 50 ms after the first one, instead of a second."""
    monkeypatch.setattr("mcp_bridge.bridge.server.FIRST_RETRY_SECONDS", 0.05)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the user's own mcp.json out of a test; return the home that it sees instead."""
    folder = tmp_path / "home"
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.delenv("MCP_BRIDGE_CONFIG", raising=False)
    return folder


@pytest.fixture
def no_agentscope(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make functions as without agentscope, installed or not: what it changes is tested in `integrations`."""
    from mcp_bridge import MCPToolFunction  # late: a process may use this module and not have the package

    monkeypatch.setattr("mcp_bridge.facades.clients.tool_function_class", lambda: MCPToolFunction)


@pytest.fixture
def no_children_left() -> Iterator[None]:
    """Fail a test that leaves a process behind."""
    before = children()
    yield
    assert children() - before == set()
