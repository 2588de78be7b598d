"""Fixtures for tests that boot the real MaiBot; they are skipped where it is not installed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from .chat import RealChat
from .host import RealHost
from .instance import make_instance, server_table

HERE = Path(__file__).parent
PLAIN_SERVER = HERE / "servers" / "plain_server.py"

HERE_IN_THE_GROUP: dict[str, Any] = {"platform": "qq", "group_id": "123456", "is_group_chat": True}
"""The one chat that has the tools of the server `private`."""

Boot = Callable[[str | None], RealHost]
"""Boot a host whose plugin has this config.toml; None boots one without the plugin."""


def why_not() -> str:
    """Return what keeps these tests from running here, if anything does."""
    if not Path("/proc/self/stat").exists():
        return "finding the bot's processes needs /proc"
    if find_spec("maibot_sdk") is None:
        return "MaiBot is not installed: pip install 'maibot>=1.3' (Python 3.12)"
    return ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests of this folder where they cannot run."""
    if reason := why_not():
        for item in items:
            if item.path.is_relative_to(HERE):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a failure what the bots that ran in it have logged."""
    report = yield
    if report.failed and item.path.is_relative_to(HERE):
        for host in RealHost.running:
            report.sections.append((f"log of {host.instance.name}", host.log_tail()))
        for chat in RealChat.running:
            report.sections.append((f"screen of {chat.instance.name}", chat.screen_tail()))
    return report


@pytest.fixture(scope="session")
def blank_instance(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Return a function that makes one more MaiBot instance, without the plugin."""
    numbers = count(1)
    base = tmp_path_factory.mktemp("maibot")
    blank: list[Path] = []

    def make() -> Path:
        if not blank:  # `maibot init` takes seconds, a copy does not.
            blank.append(make_instance(base / "blank"))
        return Path(shutil.copytree(blank[0], base / f"instance-{next(numbers)}"))

    return make


@pytest.fixture(scope="session")
def calculator() -> str:
    """Return a config.toml with the example server of the plugin folder."""
    return server_table("calculator", "${PYTHON}", ["examples/calculator_server.py"])


@pytest.fixture(scope="session")
def plain() -> Callable[..., str]:
    """Return a function that makes the table of a plain server: name, its options, keys of the table."""

    def table(name: str, *options: str, **keys: object) -> str:
        return server_table(name, sys.executable, [str(PLAIN_SERVER), *options], **keys)

    return table


def _boot(blank_instance: Callable[[], Path]) -> Iterator[Boot]:
    with ExitStack() as stack:
        yield lambda config: stack.enter_context(RealHost(blank_instance(), config))


@pytest.fixture
def boot(blank_instance: Callable[[], Path]) -> Iterator[Boot]:
    """Return a function that boots a host for one test."""
    yield from _boot(blank_instance)


@pytest.fixture(scope="module")
def bot(blank_instance: Callable[[], Path], calculator: str, plain: Callable[..., str]) -> Iterator[RealHost]:
    """Return one host for all tests that only look and call.

    Its servers: the calculator, a plain one, and the plain one again for a single group.
    """
    for start in _boot(blank_instance):
        host = start(calculator + plain("plain") + plain("private", chats=["qq:123456"]))
        host.wait_for_tools("mcp_calculator_add", "mcp_plain_pid", "mcp_private_pid", **HERE_IN_THE_GROUP)
        yield host


@pytest.fixture(scope="module")
def bare_startup_seconds(blank_instance: Callable[[], Path]) -> float:
    """Return how long the host takes to start its plugins when ours is not among them."""
    with RealHost(blank_instance(), None) as host:
        return host.startup_seconds
