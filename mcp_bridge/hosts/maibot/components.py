"""What MaiBot's owner reaches from outside: the command `/mcp`, the page's data, and consent to calls."""

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
from ..owner.command import PATTERN, OwnerCommand
from ..owner.consent import Consents
from ..owner.desk import OwnerActions
from .page import OwnerPage

logger = logging.getLogger(__name__)

FOLDER = Path(__file__).resolve().parents[3]


def _no_api(name: str) -> Callable[[Any], Any]:
    """Stand in for the decorator that SDKs before 2.1 do not have: they know no page either."""
    return lambda function: function


API: Callable[[str], Callable[[Any], Any]] = getattr(components, "API", _no_api)


class OwnerComponents(MaiBotPlugin):  # type: ignore[misc]  # the host's SDK is not installed with us
    """The components that MaiBot finds by their decorators. Who sets `_desk` is the plugin itself."""

    def __init__(self) -> None:
        super().__init__()
        self._servers = BridgeConfig()
        self._declared: list[dict[str, Any]] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._errands: set[asyncio.Task[None]] = set()
        self._consents = Consents(self._say)
        self._desk: OwnerActions | None = None
        self._page: OwnerPage | None = None

    @Command("mcp", description="MCP 服务器的状态与开关，只听主人的", pattern=PATTERN)  # type: ignore[untyped-decorator]
    async def owner_command(
        self,
        stream_id: str = "",
        platform: str = "",
        user_id: str = "",
        matched_groups: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> tuple[bool, str | None, bool]:
        """Answer `/mcp` of an owner; what others write is an ordinary message."""
        if self._desk is None or f"{platform}:{user_id}" not in self._servers.owners:
            return True, None, False
        words = str((matched_groups or {}).get("words") or "")
        command = OwnerCommand(self._desk, self._consents)
        # What takes longer than the host waits for a command is said when it is done.
        errand = asyncio.create_task(command.run(words, lambda text: self._say(stream_id, text)), name="mcp command")
        self._errands.add(errand)
        errand.add_done_callback(self._errand_done)
        return True, None, True

    @API("mcp_overview")
    async def page_overview(self) -> dict[str, Any]:
        """Return what the page in the web UI shows."""
        visible = {one["name"] for one in self._declared or () if one["metadata"]["visibility"] == "visible"}
        return self._owner_page().overview(visible)

    @API("mcp_refresh")
    async def page_refresh(self) -> dict[str, Any]:
        return await self._owner_page().refresh()

    @API("mcp_switch_on")
    async def page_switch_on(self, server: str) -> dict[str, Any]:
        return await self._owner_page().switch(server, on=True)

    @API("mcp_switch_off")
    async def page_switch_off(self, server: str) -> dict[str, Any]:
        return await self._owner_page().switch(server, on=False)

    @API("mcp_try_tool")
    async def page_try_tool(self, tool: str, arguments: str = "") -> dict[str, Any]:
        return await self._owner_page().try_tool(tool, arguments)

    @API("mcp_add_server")
    async def page_add_server(
        self, name: str, command: str = "", url: str = "", bearer: str = "", env: str = ""
    ) -> dict[str, Any]:
        return await self._owner_page().add_server(name, command, url, bearer, env)

    def stop_errands(self) -> None:
        """End what commands and buttons have begun."""
        for errand in self._errands:
            errand.cancel()
        if self._page is not None:
            self._page.stop()

    async def _confirm(self, call: Call) -> bool:
        """Ask the owner; called on the bridge's loop, while chats are reached from the host's."""
        if self._loop is None:
            return False
        asked = asyncio.run_coroutine_threadsafe(self._consents.ask(call), self._loop)
        return await asyncio.wrap_future(asked)

    async def _say(self, stream_id: str, text: str) -> bool:
        if not stream_id:
            return False
        try:
            return await self.ctx.send.text(text, stream_id) is not False
        except Exception as error:  # whatever the platform's adapter raises must not end a call
            logger.warning("nothing could be said in the chat: %s", error or type(error).__name__)
            return False

    def _owner_page(self) -> OwnerPage:
        if self._desk is None:
            raise BridgeError("the plugin is switched off in config.toml")
        if self._page is None:
            self._page = OwnerPage(self._desk, FOLDER / "config.toml")
        return self._page

    def _errand_done(self, errand: asyncio.Task[None]) -> None:
        self._errands.discard(errand)
        if not errand.cancelled() and (error := errand.exception()) is not None:
            logger.error("the command /mcp failed: %r", error)
