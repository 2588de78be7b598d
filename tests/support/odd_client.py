"""A client around the misbehaving server, and what is asked of it."""

from __future__ import annotations

import sys
from typing import Any

from mcp_bridge import StdioStatefulClient
from tests.support.places import ODD_SERVER


def stdio(mode: str, *options: str, name: str = "odd", **more: Any) -> StdioStatefulClient:
    return StdioStatefulClient(name, sys.executable, [str(ODD_SERVER), mode, *options], **more)


async def call(client: Any, tool: str, wrap: bool = True, **arguments: Any) -> Any:
    function = await client.get_callable_function(func_name=tool, wrap_tool_result=wrap)
    return await function(**arguments)


def texts(response: list[dict[str, Any]]) -> str:
    return "\n".join(block["text"] for block in response if block["type"] == "text")
