"""The servers that the plugin runs in MaiBot: their configuration, their bridge and the declared tools."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...bridge.thread import BridgeThread
from ...calls.stages import Confirm
from ...config.bridge_config import BridgeConfig, parse_config
from ...errors import ConfigError
from ...store.atomic_file import write_whole
from ...store.data_dir import note_bot
from ..base_tool import MAX_CALL_SECONDS, create_mcp_tool_class
from ..owner.switches import Switches
from .tool import MaiBotTool, declare, shown_names

logger = logging.getLogger(__name__)

CONFIG_FILE = Path(__file__).resolve().parents[3] / "config.toml"
COMPONENT_WAIT_SECONDS = 2.0
"""Longest wait of `declare`: it blocks the loop that all plugins share."""
EDIT_WAIT_SECONDS = 15.0
"""How long to wait for newly added servers to list their tools before the plugin is reloaded."""
HANDOVER_SECONDS = 2.0
"""How long calls are accepted after `close`: the host offers the old tools a moment longer."""


class PluginServers:
    """Owns the bridge of the plugin from `start` to `close`, and remembers which tools were declared.

    `on_apply` is called on the host's loop after a change of the configuration was applied.
    """

    def __init__(self, data_dir: Path, on_apply: Callable[[], None]) -> None:
        self.config = BridgeConfig()
        self.bridge: BridgeThread | None = None
        self.switches = Switches(data_dir / "switches.json")
        self.data_dir = data_dir
        self._on_apply = on_apply
        self._raw_config: Mapping[str, Any] | None = None
        self._classes: dict[str, type[MaiBotTool]] = {}
        self._declared: list[dict[str, Any]] | None = None

    def start(self, *, on_change: Callable[[], None], confirm: Confirm, own_reload: bool) -> None:
        """Start the servers of the adopted configuration. After the plugin's own reload the call counts go on."""
        config = self.switches.apply(self.config)
        self.bridge = BridgeThread(config, data_dir=self.data_dir, on_change=on_change, confirm=confirm)
        if own_reload:
            self._restore_counts(self.bridge)
        self.bridge.start()
        try:
            note_bot(CONFIG_FILE, self.data_dir.absolute())
        except OSError as error:
            logger.debug("the command line will not find the bot's data folder: %s", error)

    def close(self) -> None:
        """Return at once: running calls finish in the background, then all servers end."""
        bridge, self.bridge = self.bridge, None
        if bridge is not None:
            self._store_counts(bridge)
            bridge.close_soon(HANDOVER_SECONDS)

    def adopt(self, raw: Mapping[str, Any], config: BridgeConfig) -> None:
        """Replace the configuration; `raw` is what the host has parsed."""
        self._raw_config, self.config = raw, config

    async def apply(self) -> None:
        """Apply the configuration with the owner's switches to the running bridge."""
        bridge = self.bridge
        if bridge is None:
            return
        # Wait for the tools of new servers: during a reload the bot has no tools, and another one would follow.
        listed = asyncio.ensure_future(bridge.reconfigure(self.switches.apply(self.config)))
        try:
            await asyncio.wait({listed}, timeout=EDIT_WAIT_SECONDS)
        finally:
            listed.cancel()
        if listed.done() and not listed.cancelled() and listed.exception() is not None:
            logger.debug("the new configuration takes effect at the next start: %r", listed.exception())
        self._on_apply()

    def declare(self, *, own_reload: bool) -> list[dict[str, Any]]:
        """Return the components of the tools known now, and remember them.

        Waits at most 2 s for servers whose tools were never listed; not during the plugin's own reload, while
        the host has none of our tools.
        """
        if self.bridge is not None:
            wait = self.bridge.wait_started if own_reload else self.bridge.wait_known
            wait(COMPONENT_WAIT_SECONDS)
        self._classes, self._declared = self._offer()
        return list(self._declared)

    def differs(self, raw: Mapping[str, Any]) -> bool:
        """Return whether other components would be declared now, or the host holds another configuration."""
        if self.bridge is None:
            return False
        return raw != self._raw_config or self._offer()[1] != self._declared

    def tool(self, name: str) -> type[MaiBotTool] | None:
        """Return the class of a declared tool."""
        return self._classes.get(name)

    @property
    def tool_count(self) -> int:
        """The number of declared tools."""
        return len(self._classes)

    @property
    def visible(self) -> set[str]:
        """The names of the tools that are declared as visible."""
        return {one["name"] for one in self._declared or () if one["metadata"]["visibility"] == "visible"}

    def sends_media(self, tool: type[MaiBotTool]) -> bool:
        """Return whether `send_media` is set for the server of a tool."""
        return any(one.send_media for one in self.config.servers if one.name == tool.mcp_tool.server)

    def _offer(self) -> tuple[dict[str, type[MaiBotTool]], list[dict[str, Any]]]:
        """Return the tool classes and the components that would be declared now."""
        bridge = self.bridge
        if bridge is None:
            return {}, []
        configs = {server.name: server for server in self.config.servers}
        classes: dict[str, type[MaiBotTool]] = {}
        components: list[dict[str, Any]] = []
        tools = bridge.tools()
        shown = shown_names(tools, configs, self.config.max_visible)
        for tool in tools:
            made = create_mcp_tool_class(tool, bridge, MaiBotTool)
            classes[tool.name] = made
            components.append(declare(made, configs[tool.server], visible=tool.name in shown))
        return classes, components

    @property
    def _counts_file(self) -> Path:
        return self.data_dir / "counts.json"

    def _store_counts(self, bridge: BridgeThread) -> None:
        """Save the call counts across the plugin's own reload, so that the owner does not see them reset."""
        try:
            write_whole(self._counts_file, json.dumps(bridge.call_stats.to_json()).encode())
        except (OSError, ValueError) as error:
            logger.debug("the call counts are reset: %s", error)

    def _restore_counts(self, bridge: BridgeThread) -> None:
        try:
            bridge.call_stats.restore(json.loads(self._counts_file.read_text("utf-8")))
        except (OSError, ValueError, TypeError, KeyError) as error:
            logger.debug("the call counts are reset: %s", error)


def read_config(raw: Mapping[str, Any]) -> BridgeConfig:
    """Check the configuration that the host has parsed; the file itself is only read for line numbers."""
    try:
        text = CONFIG_FILE.read_text("utf-8-sig", "replace") if CONFIG_FILE.is_file() else ""
        config = parse_config(raw, file=CONFIG_FILE, text=text)
    except (ConfigError, OSError) as error:
        logger.error("no MCP servers are started: %s", error)
        return BridgeConfig()
    servers = tuple(server.limited_to(MAX_CALL_SECONDS) for server in config.servers)
    return replace(config, servers=servers)
