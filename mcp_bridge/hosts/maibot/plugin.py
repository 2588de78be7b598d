"""The adapter for MaiBot >= 1.0 (facts seen on 1.3.15 with SDK 2.16).

The host's order: import, `create_plugin`, `set_plugin_config`, `get_components` (on the
shared event loop), register, `on_load`. Tools must be declared in `get_components`, so
discovery starts on a thread of its own when the config arrives, and what comes later is
declared by reloading. Every hook may be called again after `on_unload`: when a new
instance fails to load, the host goes back to the old one.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...bridge.thread import BridgeThread
from ...config.bridge_config import BridgeConfig, parse_config
from ...errors import ConfigError
from ...store.atomic_file import write_whole
from ...store.data_dir import note_bot
from ..base_tool import MAX_CALL_SECONDS, create_mcp_tool_class
from ..owner.desk import OwnerActions
from ..owner.switches import Switches
from ..owner.texts import OwnerTexts
from .components import FOLDER, OwnerComponents
from .reload import Reloader, is_own_reload
from .tool import MaiBotTool, caller_of, declare, send_media, shown_names

logger = logging.getLogger(__name__)

PLUGIN_ID = "mcp-bridge"
COMPONENT_WAIT_SECONDS = 2.0
"""Most that `get_components` waits: it blocks the loop that all plugins share."""
EDIT_WAIT_SECONDS = 15.0
"""How long servers that an edit has added are got to know while the old tools still serve."""
HANDOVER_SECONDS = 2.0
"""How long calls are still taken after `on_unload`: the host lists the old tools a moment longer."""


class McpBridgePlugin(OwnerComponents):
    """Declares every tool of every configured MCP server as a tool of the bot."""

    def __init__(self) -> None:
        super().__init__()
        self._bridge: BridgeThread | None = None
        self._running_config: Mapping[str, Any] | None = None
        self._classes: dict[str, type[MaiBotTool]] = {}
        self._reloader: Reloader | None = None
        self._edit: asyncio.Task[None] | None = None

    def set_plugin_config(self, config: dict[str, Any]) -> None:
        """Take the parsed config.toml; starts the servers unless they run or the plugin is off."""
        super().set_plugin_config(config)
        plugin = config.get("plugin")
        if self._bridge is None and not (isinstance(plugin, Mapping) and plugin.get("enabled") is False):
            self._start(config)

    def get_components(self) -> list[dict[str, Any]]:
        """Return the tools that are known now.

        Waits 2 s at the most for those never seen before, and not at all in a reload, during
        which the host has none of our tools.
        """
        if self._bridge is not None and is_own_reload(self._state_file):
            self._bridge.wait_started(COMPONENT_WAIT_SECONDS)
        elif self._bridge is not None:
            self._bridge.wait_known(COMPONENT_WAIT_SECONDS)
        self._classes, components = self._offer()
        self._declared = components
        return [*super().get_components(), *components]

    async def on_load(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self._reloader is not None:
            self._reloader.stop()
        self._reloader = Reloader(self._reload_self, self._differs, self._state_file)
        self._reloader.start()
        logger.info("mcp-bridge: %d tools of %d servers", len(self._classes), len(self._servers.servers))

    async def on_unload(self) -> None:
        """Return at once: running calls finish in the background, then all servers end."""
        if self._reloader is not None:
            self._reloader.stop()
        if self._edit is not None:
            self._edit.cancel()
        self.stop_errands()
        bridge, self._bridge = self._bridge, None
        if bridge is not None:
            self._keep_counts(bridge)
            bridge.close_soon(HANDOVER_SECONDS)

    async def on_config_update(self, scope: str, config_data: dict[str, Any], version: str) -> None:
        """Have an edited config.toml take effect; other configurations do not concern us."""
        if scope != "self" or self._reloader is None:
            return
        if self._edit is not None:
            self._edit.cancel()
        self._edit = asyncio.create_task(self._take_in(config_data), name="mcp-bridge edit")

    async def invoke_component(self, component_name: str, /, **arguments: Any) -> dict[str, Any]:
        """Run a tool for the host, which passes the model's arguments flat and adds its own."""
        tool = self._classes.get(component_name)
        if tool is None:
            text = f"there is no tool '{component_name}' any more"
            return {"success": False, "content": text, "error": text}
        caller = caller_of(arguments)
        stream_id = str(arguments.get("stream_id") or "")
        self._consents.note_chat(caller.chat, stream_id)
        called = tool(chat=caller.chat, user=caller.user)
        answer = await called.execute(arguments)
        if called.media and self._sends_media(tool):
            sent = await send_media(self.ctx.send, stream_id, called.media)
            if sent:
                answer["content"] += "\n" + OwnerTexts(self._servers.language)("media.sent", count=sent)
        return answer

    @property
    def _data_dir(self) -> Path:
        return Path(self.ctx.paths.data_dir)

    @property
    def _counts_file(self) -> Path:
        return self._data_dir / "counts.json"

    @property
    def _state_file(self) -> Path:
        return self._data_dir / "reload.json"

    def _start(self, config: Mapping[str, Any]) -> None:
        switches = Switches(self._data_dir / "switches.json")
        self._desk = OwnerActions(lambda: self._bridge, lambda: self._servers, self._apply, switches)
        self._adopt(config, _parse(config))
        self._bridge = BridgeThread(
            switches.apply(self._servers), data_dir=self._data_dir, on_change=self._changed, confirm=self._confirm
        )
        if is_own_reload(self._state_file):
            self._restore_counts(self._bridge)
        self._bridge.start()
        try:
            note_bot(FOLDER / "config.toml", self._data_dir.absolute())
        except OSError as error:
            logger.debug("no note for the command line: %s", error)

    def _keep_counts(self, bridge: BridgeThread) -> None:
        """Write the counts of calls down for the next generation: a reload is none of the owner's business."""
        try:
            write_whole(self._counts_file, json.dumps(bridge.ledger.to_json()).encode())
        except (OSError, ValueError) as error:
            logger.debug("the counts of calls begin anew: %s", error)

    def _restore_counts(self, bridge: BridgeThread) -> None:
        try:
            bridge.ledger.restore(json.loads(self._counts_file.read_text("utf-8")))
        except (OSError, ValueError, TypeError, KeyError) as error:
            logger.debug("the counts of calls begin anew: %s", error)

    def _adopt(self, config: Mapping[str, Any], parsed: BridgeConfig) -> None:
        self._running_config, self._servers = config, parsed
        self._consents.owners, self._consents.words = parsed.owners, OwnerTexts(parsed.language)

    async def _take_in(self, config: Mapping[str, Any]) -> None:
        """Have an edit take effect: in the running bridge, and by a reload only if other tools are to be declared."""
        parsed = _parse(config)
        if self._bridge is not None and parsed.enabled:
            self._adopt(config, parsed)
            await self._apply()
        elif self._reloader is not None:
            self._reloader.request(edited=True)

    async def _apply(self) -> None:
        """Let the bridge work by the configuration and the switches as they are now."""
        bridge, desk, reloader = self._bridge, self._desk, self._reloader
        if bridge is None or desk is None:
            return
        # So that no tool is missing for long, new servers are got to know before the reload.
        known = asyncio.ensure_future(bridge.reconfigure(desk.switches.apply(self._servers)))
        try:
            await asyncio.wait({known}, timeout=EDIT_WAIT_SECONDS)
        finally:
            known.cancel()
        if known.done() and not known.cancelled() and known.exception() is not None:
            logger.debug("the edit comes with the next start: %r", known.exception())
        if reloader is not None:
            reloader.request(edited=True)

    def _offer(self) -> tuple[dict[str, type[MaiBotTool]], list[dict[str, Any]]]:
        """Return what would be declared now: the tool classes and their components."""
        bridge = self._bridge
        if bridge is None:
            return {}, []
        configs = {server.name: server for server in self._servers.servers}
        classes: dict[str, type[MaiBotTool]] = {}
        components: list[dict[str, Any]] = []
        tools = bridge.tools()
        shown = shown_names(tools, configs, self._servers.max_visible)
        for tool in tools:
            made = create_mcp_tool_class(tool, bridge, MaiBotTool)
            classes[tool.name] = made
            components.append(declare(made, configs[tool.server], visible=tool.name in shown))
        return classes, components

    def _changed(self) -> None:
        """Called on the bridge's thread when the tools have changed."""
        loop, reloader = self._loop, self._reloader
        if loop is not None and reloader is not None:
            try:
                loop.call_soon_threadsafe(reloader.request)
            except RuntimeError:
                logger.debug("the host's loop has ended")

    def _differs(self) -> bool:
        if self._bridge is None:
            return False
        if self.get_plugin_config_data() != self._running_config:
            return True
        return self._offer()[1] != self._declared

    def _sends_media(self, tool: type[MaiBotTool]) -> bool:
        return any(one.send_media for one in self._servers.servers if one.name == tool.mcp_tool.server)

    async def _reload_self(self) -> bool:
        answer = await self.ctx.component.reload_plugin(PLUGIN_ID)
        return isinstance(answer, Mapping) and answer.get("success") is True


def _parse(config: Mapping[str, Any]) -> BridgeConfig:
    """Check the configuration that the host has parsed; the file itself only gives line numbers."""
    file = FOLDER / "config.toml"
    try:
        text = file.read_text("utf-8-sig", "replace") if file.is_file() else ""
        parsed = parse_config(config, file=file, text=text)
    except (ConfigError, OSError) as error:
        logger.error("no MCP servers are started: %s", error)
        return BridgeConfig()
    servers = tuple(server.limited_to(MAX_CALL_SECONDS) for server in parsed.servers)
    return replace(parsed, servers=servers)


def create_plugin() -> McpBridgePlugin:
    """Return the plugin's instance; nothing is started before the config arrives."""
    return McpBridgePlugin()
