"""Load the plugin folder into a real MaiBot 0.10, 0.11 or 0.12 and print what its model is offered and answered.

Run in an environment with that bot's and this project's requirements, the bot's folder as argument:
`python tests/maibot/legacy_drive.py MAIBOT_FOLDER`. The bot is neither connected nor started: its plugin
manager loads all plugins, and its tool executor calls the tools. What is written stays in that folder.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
PLUGIN = "mcp-bridge"
WAIT_SECONDS = 60.0
"""For servers to start and to end, on a busy machine."""

CONFIG = """\
# 我的服务器 / my servers
[plugin]
enabled = true
config_version = "0.2.0"  # the host would rewrite a file with this

[mcp.servers.calculator]
command = "${PYTHON}"
args = ["examples/calculator_server.py"]

[mcp.servers.odd]
command = "${PYTHON}"
args = ["ODD_SERVER", "strict_args"]
"""
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("mcp_calculator_add", {"a": 5, "b": 3}),
    ("mcp_odd_noargs", {}),
    ("mcp_odd_strict", {"count": 1, "where": '{"x": 3}', "tags": '["a", "b"]', "color": "red"}),
    ("mcp_calculator_divide", {"a": 1, "b": 0}),
)


def prepare(bot: Path) -> bytes:
    """Put the folder and the bot's own configuration in place; return the plugin's config.toml."""
    for name in ("bot_config", "model_config"):
        if not (bot / "config" / f"{name}.toml").exists():
            (bot / "config").mkdir(exist_ok=True)
            shutil.copy(bot / "template" / f"{name}_template.toml", bot / "config" / f"{name}.toml")
    folder = bot / "plugins" / PLUGIN
    shutil.rmtree(folder, ignore_errors=True)
    left_out = shutil.ignore_patterns(".git", ".venv*", "tests", "*.egg-info", "__pycache__", ".*_cache", "build")
    shutil.copytree(REPOSITORY, folder, ignore=left_out)
    config = CONFIG.replace("ODD_SERVER", (REPOSITORY / "tests/servers/odd_server.py").as_posix()).encode()
    (folder / "config.toml").write_bytes(config)
    return config


def servers() -> int:
    """Count the servers that run below this process."""
    import psutil

    def is_server(process: psutil.Process) -> bool:
        try:
            return any("_server.py" in word for word in process.cmdline())
        except psutil.NoSuchProcess:
            return False

    return sum(map(is_server, psutil.Process().children(recursive=True)))


async def drive(bot: Path) -> None:
    config = prepare(bot)
    from src.config.config import MMC_VERSION
    from src.llm_models.model_client.openai_client import _convert_tool_options
    from src.llm_models.payload_content import ToolCall
    from src.llm_models.utils_model import LLMRequest
    from src.plugin_system.apis.tool_api import get_llm_available_tool_definitions
    from src.plugin_system.core.plugin_manager import plugin_manager
    from src.plugin_system.core.tool_use import ToolExecutor

    begin = time.monotonic()
    plugin_manager.load_all_plugins()
    seconds = time.monotonic() - begin
    print(f"\nMaiBot {MMC_VERSION}: plugins loaded in {seconds:.1f} s: {sorted(plugin_manager.loaded_plugins)}")
    deadline = time.monotonic() + WAIT_SECONDS
    while not {name for name, _ in CALLS} <= dict(get_llm_available_tool_definitions()).keys():
        assert time.monotonic() < deadline, "the tools did not come"
        await asyncio.sleep(0.1)
    definitions = [one for name, one in get_llm_available_tool_definitions() if name.startswith("mcp_")]
    options = LLMRequest._build_tool_options(None, definitions)
    for function in _convert_tool_options(options):
        print(json.dumps(function["function"], ensure_ascii=False))
    executor = ToolExecutor(chat_id="nobody")
    for name, arguments in CALLS:
        answer = await executor.execute_tool_call(ToolCall("1", name, dict(arguments)))
        print(f"{name} {json.dumps(arguments)} -> {answer['content']!r}")
    print(f"servers before unloading: {servers()}")
    assert await plugin_manager.remove_registered_plugin(PLUGIN)
    deadline = time.monotonic() + WAIT_SECONDS
    while servers() and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
    left = [name for name, _ in get_llm_available_tool_definitions() if name.startswith(("mcp_calculator", "mcp_odd"))]
    print(f"after unloading: {servers()} servers, tools {left}")
    print(f"config.toml unchanged: {(bot / 'plugins' / PLUGIN / 'config.toml').read_bytes() == config}")


if __name__ == "__main__":
    bot_folder = Path(sys.argv[1]).resolve()
    os.chdir(bot_folder)
    sys.path[0] = str(bot_folder)
    asyncio.run(drive(bot_folder))
    sys.stdout.flush()
    os._exit(0)  # as the bot does itself: it leaves threads behind
