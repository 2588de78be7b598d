"""Secrets of the configuration in what a server lists."""

from __future__ import annotations

import json

from mcp_bridge.text.redaction import Redactor
from mcp_bridge.tools.tool import Listing, RemoteTool, masked

SECRET = "sk-planted-0123456789"


def test_a_tool_with_a_secret_in_its_name_is_left_out_and_the_others_stay() -> None:
    """Reported: a server put its own token into tool names, and the log and the stored tools held it."""
    listing = Listing((RemoteTool("s", f"get_{SECRET}"), RemoteTool("s", "echo", f"as {SECRET}")), ("one problem",))
    clean = masked(listing, Redactor({SECRET}))
    assert [(tool.remote_name, tool.description) for tool in clean.tools] == [("echo", "as ***")]
    assert clean.problems == ("one problem", "tool 'get_***' left out: its name contains a secret")
    assert SECRET not in json.dumps([tool.to_json() for tool in clean.tools])
