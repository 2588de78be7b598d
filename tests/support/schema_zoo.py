"""Servers with odd schemas, one per schema, and calls of their tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_bridge import Bridge, Tool
from tests.support.entries import odd

PROFILES = pytest.mark.parametrize("profile", ["default", "strict"])


def zoo(*shapes: str, profile: str = "default", **more: Any) -> str:
    """Return a configuration with one server per odd schema, the server called like it."""
    settings = {"schema_profile": profile, **more}
    head = "[mcp]\n" + "\n".join(f"{key} = {json.dumps(value)}" for key, value in settings.items()) + "\n"
    return head + "".join(odd(shape, f"zoo_{shape}") for shape in shapes)


def tool_of(bridge: Bridge, shape: str) -> Tool:
    (tool,) = [one for one in bridge.tools() if one.remote_name == shape]
    return tool


async def arrived(bridge: Bridge, name: str, arguments: Any) -> Any:
    """Call a tool that returns the arguments as they arrived, and return those."""
    result = await bridge.call(name, arguments)
    assert not result.is_error, result.text
    return json.loads(result.text)["arguments"]
