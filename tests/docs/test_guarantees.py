"""That `docs/guarantees.md` names tests that exist, and the defaults of the code."""

from __future__ import annotations

import re
from pathlib import Path

from mcp_bridge.config.bridge_config import BridgeConfig
from mcp_bridge.config.server_config import MAX_CALL_FACTOR, ServerConfig

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "guarantees.md").read_text("utf-8")


def test_each_test_that_the_page_names_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 40
    for file, name in named:
        assert re.search(rf"^(async )?def {name}\(", (TESTS / file).read_text("utf-8"), re.M), f"{file}::{name}"


def test_the_defaults_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\w ]+) \|", PAGE, re.M)
    assert len(rows) == 11
    for key, default in rows:
        if key == "max_call_time":
            assert ServerConfig("s").max_call_time is None
            assert default == f"{MAX_CALL_FACTOR} x call_timeout"
        else:
            known = getattr(ServerConfig("s"), key, None)
            assert float(default) == (known if known is not None else getattr(BridgeConfig(), key)), key


def test_each_fault_that_is_tested_stands_on_the_page() -> None:
    for file in (TESTS / "faults").glob("test_*.py"):
        assert f"`faults/{file.name}::" in PAGE or file.name == "test_pipes.py", file.name
