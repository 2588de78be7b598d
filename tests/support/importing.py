"""`mcp-bridge import` in this process, and what it is given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcp_bridge.cli import importing
from mcp_bridge.cli.report import Report

OWN = """# my bot / 我的机器人
[plugin]
enabled = true

[mcp]  # everything optional
max_tools = 64
[mcp.servers.own]
command = 'C:\\own\\srv.exe'   # mine

# [mcp.servers.later]
# command = "npx"
"""


class Seen(Report):
    """Keeps what would be printed."""

    def __init__(self) -> None:
        super().__init__(as_json=True)
        self.printed: Any = None

    def document(self, document: Any) -> None:
        self.printed = document


def take_in(source: Path, config: Path) -> Any:
    seen = Seen()
    importing.run(source, config, seen)
    return seen.printed


def write_json(folder: Path, servers: Any) -> Path:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return file
