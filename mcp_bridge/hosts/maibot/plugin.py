"""The plugin for MaiBot >= 1.0 (facts seen on 1.3.15 with SDK 2.16).

The host's order: import, `create_plugin`, `set_plugin_config`, `get_components` (on the
shared event loop), register, `on_load`. Tools have to be declared in `get_components`, so
the servers start on a thread of their own when the configuration arrives, and later tools are
declared by reloading the plugin. Every hook may be called again after `on_unload`: when a new
instance fails to load, the host goes back to the old one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from maibot_sdk import Command, MaiBotPlugin, components

from ...calls import Call
from ...config.bridge_config import BridgeConfig
from ...errors import BridgeError
from ..owner.background import BackgroundTasks
from ..owner.command import PATTERN
from ..owner.texts import OwnerTexts
from .owner import OwnerControls
from .reload import Reloader, is_own_reload
from .servers import PluginServers, read_config
from .tool import caller_of, send_media

logger = logging.getLogger(__name__)

PLUGIN_ID = "mcp-bridge"


def _no_api(name: str) -> Callable[[Any], Any]:
    """Replace the decorator `API`, which SDKs before 2.1 do not have; they have no pages either."""
    return lambda function: function


API: Callable[[str], Callable[[Any], Any]] = getattr(components, "API", _no_api)


class McpBridgePlugin(MaiBotPlugin):  # type: ignore[misc]  # the host's SDK is not installed with us
    """Declares every tool of every configured MCP server as a tool of the bot.

    The SDK finds the command and the page's API by their decorators on this class.
    """

    def __init__(self) -> None:
        super().__init__()
        self._servers: PluginServers | None = None
        self._owner: OwnerControls | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reloader: Reloader | None = None
        self._tasks = BackgroundTasks()
        self._edit: asyncio.Task[None] | None = None

    def set_plugin_config(self, config: dict[str, Any]) -> None:
        """Take the parsed config.toml; starts the servers unless they run or the plugin is disabled."""
        super().set_plugin_config(config)
        if self._servers is not None and self._servers.bridge is not None:
            return
        parsed = read_config(config)
        if parsed.enabled:
            self._start(config, parsed)

    def get_components(self) -> list[dict[str, Any]]:
        """Return the command, the page's API and the tools known now; waits at most 2 s for tools."""
        tools = self._servers.declare(own_reload=is_own_reload(self._state_file)) if self._servers else []
        return [*super().get_components(), *tools]

    async def on_load(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self._reloader is not None:
            self._reloader.stop()
        self._reloader = Reloader(self._reload_self, self._differs, self._state_file)
        self._reloader.start()
        if self._servers is not None:
            servers = self._servers
            logger.info("mcp-bridge: %d tools of %d servers", servers.tool_count, len(servers.config.servers))

    async def on_unload(self) -> None:
        """Return at once: running calls finish in the background, then all servers end."""
        if self._reloader is not None:
            self._reloader.stop()
        if self._servers is not None:
            self._servers.close()
        await self._tasks.cancel()

    async def on_config_update(self, scope: str, config_data: dict[str, Any], version: str) -> None:
        """Apply an edited config.toml; other configurations of the bot do not concern this plugin."""
        if scope != "self" or self._reloader is None:
            return
        if self._edit is not None:
            self._edit.cancel()
        self._edit = self._tasks.start(self._apply_edit(config_data), "the edit of config.toml")

    async def invoke_component(self, component_name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool for the host, which passes the model's arguments as keywords and adds its own."""
        servers, owner = self._servers, self._owner
        tool = servers.tool(component_name) if servers is not None else None
        if servers is None or owner is None or tool is None:
            text = f"there is no tool '{component_name}' any more"
            return {"success": False, "content": text, "error": text}
        caller = caller_of(arguments)
        stream_id = str(arguments.get("stream_id") or "")
        owner.chats.note(caller.chat, stream_id)
        called = tool(chat=caller.chat, user=caller.user)
        answer = await called.execute(arguments)
        if called.media and servers.sends_media(tool):
            sent = await send_media(self.ctx.send, stream_id, called.media)
            if sent:
                answer["content"] += "\n" + OwnerTexts(servers.config.language)("media.sent", count=sent)
        return answer

    @Command("mcp", description="查看和开关 MCP 服务器，仅限主人使用", pattern=PATTERN)  # type: ignore[untyped-decorator]
    async def owner_command(
        self,
        stream_id: str = "",
        platform: str = "",
        user_id: str = "",
        matched_groups: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> tuple[bool, str | None, bool]:
        """Run `/mcp` of an owner; from others it is an ordinary message."""
        if self._owner is None or not self._owner.is_owner(f"{platform}:{user_id}"):
            return True, None, False
        self._owner.run_command(str((matched_groups or {}).get("words") or ""), stream_id)
        return True, None, True

    @API("mcp_overview")
    async def page_overview(self) -> dict[str, Any]:
        return self._controls().overview()

    @API("mcp_refresh")
    async def page_refresh(self) -> dict[str, Any]:
        return await self._controls().page.refresh()

    @API("mcp_switch_on")
    async def page_switch_on(self, server: str) -> dict[str, Any]:
        return await self._controls().page.switch(server, on=True)

    @API("mcp_switch_off")
    async def page_switch_off(self, server: str) -> dict[str, Any]:
        return await self._controls().page.switch(server, on=False)

    @API("mcp_try_tool")
    async def page_try_tool(self, tool: str, arguments: str = "") -> dict[str, Any]:
        return await self._controls().page.try_tool(tool, arguments)

    @API("mcp_add_server")
    async def page_add_server(
        self, name: str, command: str = "", url: str = "", bearer: str = "", env: str = ""
    ) -> dict[str, Any]:
        return await self._controls().page.add_server(name, command, url, bearer, env)

    @property
    def _state_file(self) -> Path:
        return Path(self.ctx.paths.data_dir) / "reload.json"

    def _start(self, raw: Mapping[str, Any], config: BridgeConfig) -> None:
        servers = PluginServers(Path(self.ctx.paths.data_dir), self._request_reload)
        servers.adopt(raw, config)
        self._servers, self._owner = servers, OwnerControls(servers, self._send_text, self._tasks)
        servers.start(on_change=self._changed, confirm=self._confirm, own_reload=is_own_reload(self._state_file))

    async def _apply_edit(self, raw: Mapping[str, Any]) -> None:
        """Apply an edit to the running bridge; the plugin is reloaded only if other tools have to be declared."""
        config = read_config(raw)
        servers = self._servers
        if servers is not None and servers.bridge is not None and config.enabled:
            servers.adopt(raw, config)
            await servers.apply()
        else:
            self._request_reload()

    def _request_reload(self) -> None:
        if self._reloader is not None:
            self._reloader.request(edited=True)

    def _changed(self) -> None:
        """Check for changed tools; called on the bridge's thread."""
        loop, reloader = self._loop, self._reloader
        if loop is not None and reloader is not None:
            try:
                loop.call_soon_threadsafe(reloader.request)
            except RuntimeError:
                logger.debug("the host's loop is closed")

    def _differs(self) -> bool:
        return self._servers is not None and self._servers.differs(self.get_plugin_config_data())

    async def _reload_self(self) -> bool:
        answer = await self.ctx.component.reload_plugin(PLUGIN_ID)
        return isinstance(answer, Mapping) and answer.get("success") is True

    async def _confirm(self, call: Call) -> bool:
        """Ask the owner; called on the bridge's loop, while messages are sent on the host's."""
        if self._loop is None or self._owner is None:
            return False
        asked = asyncio.run_coroutine_threadsafe(self._owner.consents.ask(call), self._loop)
        return await asyncio.wrap_future(asked)

    async def _send_text(self, stream_id: str, text: str) -> bool:
        if not stream_id:
            return False
        try:
            return await self.ctx.send.text(text, stream_id) is not False
        except Exception as error:  # an error of the platform's adapter must not end a call
            logger.warning("a message could not be sent to the chat: %s", error or type(error).__name__)
            return False

    def _controls(self) -> OwnerControls:
        """Return the owner's controls. Raises `BridgeError` if the plugin was never started."""
        if self._owner is None:
            raise BridgeError("the plugin is switched off in config.toml")
        return self._owner


def create_plugin() -> McpBridgePlugin:
    """Return the plugin; nothing is started before the configuration arrives."""
    return McpBridgePlugin()
