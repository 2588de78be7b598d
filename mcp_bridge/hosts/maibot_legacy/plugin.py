"""The plugin for MaiBot 0.10 to 0.12 (facts seen on 0.10.0 and 0.12.3).

The host does everything synchronously inside its running loop: import, constructor,
`get_plugin_components`, registration. It has no hooks for loading and unloading: it drops
the instance, and the servers end when that is garbage-collected. Tools that servers list later are
registered on the host's loop. `config.toml` is read here, not by the host, which uses another TOML
reader and, when it finds a `config_version`, rewrites the file without our tables.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import weakref
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from src.plugin_system import BasePlugin, ComponentType  # type: ignore[import-not-found]  # only inside a bot
from src.plugin_system import register_plugin as register_plugin
from src.plugin_system.core import component_registry  # type: ignore[import-not-found]

from ...bridge.thread import BridgeThread
from ...config.bridge_config import BridgeConfig, load_config
from ...errors import ConfigError
from ..base_tool import MAX_CALL_SECONDS, create_mcp_tool_class
from .tool import PASSES_CHATS, LegacyTool

logger = logging.getLogger(__name__)

FOLDER = Path(__file__).resolve().parents[3]
COMPONENT_WAIT_SECONDS = 5.0
"""Longest wait at the bot's start for servers whose tools were never listed; later tools are registered then."""


class LegacyMcpBridgePlugin(BasePlugin):  # type: ignore[misc]  # the host is not installed with us
    """Registers every tool of every configured MCP server. plugin.py derives the class that the host finds."""

    plugin_name = "mcp-bridge"
    enable_plugin = True
    dependencies: ClassVar[list[str]] = []
    python_dependencies: ClassVar[list[Any]] = []
    config_file_name = ""
    config_schema: ClassVar[dict[str, Any]] = {}
    manifest_file_name = "_manifest.v1.json"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._servers = _load(Path(getattr(self, "plugin_dir", None) or FOLDER) / "config.toml")
        self.enable_plugin = self._servers.enabled
        self._bridge: BridgeThread | None = None
        self._tools: dict[str, type[LegacyTool]] = {}
        self._taken: set[str] = set()
        self._update: asyncio.Task[None] | None = None

    def get_plugin_components(self) -> list[tuple[Any, type[LegacyTool]]]:
        """Start the servers and return the tools known now; waits at most 5 s."""
        if self._bridge is None:
            self._bridge = self._start()
        self._bridge.wait_known(COMPONENT_WAIT_SECONDS)
        self._tools = {name: tool for name, tool in self._offer().items() if self._is_free(name)}
        logger.info("mcp-bridge: %d tools of %d servers", len(self._tools), len(self._servers.servers))
        return [(tool.get_tool_info(), tool) for tool in self._tools.values()]

    def _start(self) -> BridgeThread:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        me = weakref.ref(self)  # a strong reference would keep the plugin, and with it the bridge, alive

        def update() -> None:
            if (plugin := me()) is not None:
                plugin._update = asyncio.create_task(plugin._register_changes(), name="mcp-bridge tools")

        def changed() -> None:
            try:
                if loop is not None:
                    loop.call_soon_threadsafe(update)
            except RuntimeError:
                logger.debug("the host's loop is closed")

        bridge = BridgeThread(self._servers, on_change=changed)
        bridge.start()
        weakref.finalize(self, bridge.close_soon)
        return bridge

    async def _register_changes(self) -> None:
        """Update the host's registry to the tools offered now. Nothing here waits, so two updates cannot interleave."""
        registered = component_registry.get_plugin_info(self.plugin_name)
        if registered is None or registered is not self.plugin_info:
            return  # unloaded, but still referenced
        offered, before = self._offer(), dict(self._tools)
        for name, old in before.items():
            if name not in offered or offered[name].get_tool_definition() != old.get_tool_definition():
                await component_registry.remove_component(name, ComponentType.TOOL, self.plugin_name)
                del self._tools[name]
        for name in offered.keys() - self._tools.keys():
            info = offered[name].get_tool_info()
            info.plugin_name = self.plugin_name
            if self._is_free(name) and component_registry.register_component(info, offered[name]):
                self._tools[name] = offered[name]
        registered.components = [tool.get_tool_info() for tool in self._tools.values()]
        if self._tools != before:
            logger.info("mcp-bridge: the tools have changed, now %d", len(self._tools))

    def _offer(self) -> dict[str, type[LegacyTool]]:
        bridge = self._bridge
        tools = bridge.tools() if bridge is not None else []
        return {tool.name: create_mcp_tool_class(tool, bridge, LegacyTool) for tool in tools if bridge is not None}

    def _is_free(self, name: str) -> bool:
        """Return whether no other plugin has a tool of that name: the host keeps the first one."""
        info = component_registry.get_component_info(name, ComponentType.TOOL)
        if info is None or info.plugin_name == self.plugin_name:
            return True
        if name not in self._taken:
            text = "tool %s is not offered: plugin '%s' has one of that name; rename the server or disable that plugin"
            logger.warning(text, name, info.plugin_name)
        self._taken.add(name)
        return False


def _load(file: Path) -> BridgeConfig:
    """Read the configuration for a host with flat parameters. An unreadable file is logged and starts no servers."""
    try:
        config = load_config(file)
    except ConfigError as error:
        logger.error("no MCP servers are started: %s", error)
        return BridgeConfig()
    if find_spec("mcp") is None:
        logger.error('no MCP servers are started: run  %s -m pip install "mcp>=1.25,<3"', sys.executable)
        return replace(config, servers=())
    servers = tuple(server.limited_to(MAX_CALL_SECONDS) for server in config.servers)
    if not PASSES_CHATS and any(server.session == "chat" for server in servers):
        logger.warning('MaiBot 0.10 does not pass the chat to tools: session = "fresh" instead of "chat"')
        servers = tuple(replace(one, session="fresh" if one.session == "chat" else one.session) for one in servers)
    return replace(config, servers=servers, schema_profile="strict")
