"""`mcp-bridge demo`: the bundled example, through the same tool classes that a bot uses."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from ..bridge.thread import BridgeThread
from ..config.bridge_config import load_config
from ..errors import ConfigError, ServerUnavailable
from ..hosts.base_tool import create_mcp_tool_class
from .report import Report

START_SECONDS = 60.0
CLOSE_SECONDS = 15.0
_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("add", {"a": 5, "b": 3}),
    ("multiply", {"a": "6", "b": 7}),  # a number as a string, as models send it: repaired by the schema
    ("greet", {"name": "麦麦"}),
    ("divide", {"a": 1, "b": 0}),
)
_NEXT = """
What next / 接下来:
  1. Copy this folder to your bot: <MaiBot>/plugins/mcp-bridge
     把本文件夹复制到机器人的 plugins/mcp-bridge
  2. Add a server to its config.toml, for example [mcp.servers.calculator]
     在其中的 config.toml 里加一个服务器
  3. Check it: python -m mcp_bridge doctor
     检查配置"""


async def run(data_dir: str | None, report: Report) -> int:
    """List the example's tools and call some, one with an error; return the exit status.

    Raises `ServerUnavailable` if the server does not start, `ConfigError` if it is missing.
    """
    bridge = BridgeThread(load_config(_example("demo.toml")), data_dir=data_dir)
    bridge.start()
    try:
        with report.progress("starting the example server"):
            await asyncio.to_thread(bridge.wait_ready, START_SECONDS)
        status = bridge.status()
        if any(server.state != "ready" for server in status):
            raise ServerUnavailable(f"the example server did not start: {status[0].reason}", server=status[0].name)
        tools = {tool.remote_name: tool for tool in bridge.tools()}
        report.listing(list(tools.values()), status)
        for name, arguments in _CALLS:
            tool_class = create_mcp_tool_class(tools[name], bridge)
            answer = await tool_class().execute(arguments)
            shown = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
            report.say(f"{tool_class.name}({shown})\n  -> {answer['content']}")
        report.say(_NEXT)
    finally:
        bridge.close_soon()
        await asyncio.to_thread(bridge.join, CLOSE_SECONDS)
    return 0


def _example(name: str) -> Path:
    """Return a bundled example: in the plugin folder beside the package, in an installed copy inside it."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package.parent / "examples", package / "examples"):
        if (folder / name).is_file():
            return folder / name
    raise ConfigError(f"the bundled example {name} is missing")
