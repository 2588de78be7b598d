"""A toolset around the misbehaving server."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from mcp_bridge import LocalMcpToolset, LocalServerParams, McpToolset
from tests.support.places import ODD_SERVER

Function = Callable[..., Any]


def local(mode: str, *args: str, **options: Any) -> LocalMcpToolset:
    return LocalMcpToolset("s", LocalServerParams(sys.executable, [ODD_SERVER, mode, *args]), **options)


def functions(toolset: McpToolset[Any]) -> dict[str, Function]:
    return {function.__name__: function for function in toolset.get_tools()}
