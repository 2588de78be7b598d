"""`docs/guarantees.md` has the defaults of the code, and each fault that is tested."""

from __future__ import annotations

import re

from mcp_bridge.config.bridge_config import BridgeConfig
from mcp_bridge.config.server_config import MAX_CALL_FACTOR, ServerConfig
from tests.support.places import ROOT, TESTS

PAGE = (ROOT / "docs" / "guarantees.md").read_text("utf-8")


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
