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
from collections.abc import Callable
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

[mcp.servers.late]
command = "${PYTHON}"
args = ["ODD_SERVER", "list_changed", "state=STATE_FILE"]
"""
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("mcp_calculator_add", {"a": 5, "b": 3}),
    ("mcp_odd_noargs", {}),
    ("mcp_odd_strict", {"count": 1, "where": '{"x": 3}', "tags": '["a", "b"]', "color": "red"}),
    ("mcp_calculator_divide", {"a": 1, "b": 0}),
    ("mcp_late_grow", {}),
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
    state = bot / "data" / "late_server_state"
    state.unlink(missing_ok=True)
    odd_server = (REPOSITORY / "tests/servers/odd_server.py").as_posix()
    config = CONFIG.replace("ODD_SERVER", odd_server).replace("STATE_FILE", state.as_posix()).encode()
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
    from src.plugin_system import BaseTool, ToolParamType
    from src.plugin_system.apis.tool_api import get_llm_available_tool_definitions
    from src.plugin_system.core import component_registry
    from src.plugin_system.core.plugin_manager import plugin_manager
    from src.plugin_system.core.tool_use import ToolExecutor

    class Taken(BaseTool):
        """What another plugin has registered before."""

        name, description, available_for_llm = "mcp_odd_pid", "Somebody else's.", True
        parameters = (("x", ToolParamType.STRING, "x", True, None),)

        async def execute(self, function_args: dict[str, Any]) -> dict[str, Any]:
            return {"content": "not ours"}

    info = Taken.get_tool_info()
    info.plugin_name = "another_plugin"
    assert component_registry.register_component(info, Taken)

    def listed() -> set[str]:
        return {name for name, _ in get_llm_available_tool_definitions()}

    async def wait_for(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not condition():
            assert time.monotonic() < deadline, "waited in vain"
            await asyncio.sleep(0.1)

    begin = time.monotonic()
    plugin_manager.load_all_plugins()
    seconds = time.monotonic() - begin
    print(f"\nMaiBot {MMC_VERSION}: plugins loaded in {seconds:.1f} s: {sorted(plugin_manager.loaded_plugins)}")
    await wait_for(lambda: {name for name, _ in CALLS} <= listed())
    definitions = [one for name, one in get_llm_available_tool_definitions() if name.startswith("mcp_")]
    options = LLMRequest._build_tool_options(None, definitions)
    for function in _convert_tool_options(options):
        print(json.dumps(function["function"], ensure_ascii=False))
    executor = ToolExecutor(chat_id="nobody")
    for name, arguments in CALLS:
        answer = await executor.execute_tool_call(ToolCall("1", name, dict(arguments)))
        print(f"{name} {json.dumps(arguments)} -> {answer['content']!r}")
    await wait_for(lambda: "mcp_late_grown1" in listed())
    await executor.execute_tool_call(ToolCall("1", "mcp_late_shrink", {}))
    await wait_for(lambda: "mcp_late_grown1" not in listed())
    print("a tool that a server added was listed, and was gone when the server removed it")
    print(f"servers before unloading: {servers()}")
    assert await plugin_manager.remove_registered_plugin(PLUGIN)
    await wait_for(lambda: not servers())
    print(f"after unloading: {servers()} servers, tools {sorted(n for n in listed() if n.startswith('mcp_'))}")
    print(f"config.toml unchanged: {(bot / 'plugins' / PLUGIN / 'config.toml').read_bytes() == config}")


if __name__ == "__main__":
    bot_folder = Path(sys.argv[1]).resolve()
    os.chdir(bot_folder)
    sys.path[0] = str(bot_folder)
    asyncio.run(drive(bot_folder))
    sys.stdout.flush()
    os._exit(0)  # as the bot does itself: it leaves threads behind
