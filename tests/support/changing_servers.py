"""Servers whose mode stands in a variable, so that their stored catalogue stays theirs."""

from __future__ import annotations

from mcp_bridge import load_config
from mcp_bridge.config.bridge_config import BridgeConfig
from tests.support.entries import Write

ENTRY = """
[mcp.servers.{name}]
command = "{{python}}"
args = ["{{odd}}", "mode_in_environ"]
env = {{ MODE = "${{MODE}}" }}
"""


def config_in(write_config: Write, mode: str, count: int = 3) -> BridgeConfig:
    entries = "".join(ENTRY.format(name=f"s{number}") for number in range(count))
    return load_config(write_config(entries), environ={"MODE": mode})
