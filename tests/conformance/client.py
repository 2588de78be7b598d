"""The client that the conformance tool drives: `client.py URL`, the scenario in `MCP_CONFORMANCE_SCENARIO`.

It reaches the tool's server through a `Bridge` over streamable HTTP, lists its tools, calls the one
that the scenario is about, and ends with status 1 if an answer is not the right one.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_bridge import Bridge
from mcp_bridge.config.bridge_config import parse_config

SCENARIO_VARIABLE = "MCP_CONFORMANCE_SCENARIO"
START_SECONDS = 10.0
CALL_SECONDS = 15.0


@dataclass(frozen=True)
class Call:
    """What a scenario wants to be called, and what its server answers to a client that does all right."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    answer: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the server's entry."""


CALLS: Mapping[str, Call] = {
    "tools_call": Call("add_numbers", {"a": 5, "b": 3}, "8"),
    # Its server has one session for everybody, and gives the answer to whoever asks next: a spare must not.
    "sse-retry": Call("test_reconnection", {}, "Reconnection test completed successfully", {"session": "shared"}),
    "elicitation-sep1034-client-defaults": Call(
        "test_client_elicitation_defaults", {}, '"name":"John Doe"', {"elicitation": "defaults"}
    ),
}
"""The scenarios that want more than a list of tools."""


async def main(url: str, scenario: str) -> int:
    call = CALLS.get(scenario)
    entry = {
        "url": url,
        "transport": "http",
        "connect_timeout": START_SECONDS,
        "call_timeout": CALL_SECONDS,
        **(call.options if call else {}),
    }
    config = parse_config({"mcp": {"servers": {"conformance": entry}}})
    with tempfile.TemporaryDirectory() as data_dir:
        async with Bridge(config, data_dir=data_dir) as bridge:
            (status,) = bridge.status()
            print(f"state: {status.state} {status.reason}".strip())
            print("tools:", *(tool.remote_name for tool in bridge.tools()))
            if status.state != "ready":
                return 1
            if call is None:
                return 0
            (name,) = (tool.name for tool in bridge.tools() if tool.remote_name == call.tool)
            result = await bridge.call(name, call.arguments)
            print("answer:", result.text)
            return 1 if result.is_error or call.answer not in result.text else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], os.environ.get(SCENARIO_VARIABLE, ""))))
