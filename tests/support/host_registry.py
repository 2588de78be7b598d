"""A host's registry of tools, and the mcp.json of a manager that fills it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any

from mcp_bridge import ToolDef
from tests.support.places import ODD_SERVER


class Registry:
    """A host's registry: binds arguments before a call, refuses a name that it has."""

    def __init__(self, *builtin: str) -> None:
        self.tools: dict[str, ToolDef | None] = dict.fromkeys(builtin)

    def get_tool_names(self) -> list[str]:
        return list(self.tools)

    def register_tools(self, tools: list[ToolDef]) -> None:
        for tool in tools:
            if tool.name in self.tools:
                raise ValueError(f"{tool.name} is there already")
            self.tools[tool.name] = tool

    def call(self, name: str, /, **arguments: Any) -> str:
        tool = self.tools[name]
        assert tool is not None
        signature(tool.func).bind(**arguments)
        return tool.func(**arguments)


def odd(mode: str, *options: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(ODD_SERVER), mode, *options], **more}


def write(folder: Path, servers: Mapping[str, Any], name: str = "mcp.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return file
