"""What MaiBot's owner controls: the command `/mcp`, the page in the web UI, and consent to calls."""

from __future__ import annotations

from typing import Any

from ..owner.actions import OwnerActions
from ..owner.background import BackgroundTasks
from ..owner.chats import ChatStreams
from ..owner.command import OwnerCommand
from ..owner.consent import Consents, SendText
from ..owner.numbers import Numbers
from .page import OwnerPage
from .servers import CONFIG_FILE, PluginServers


class OwnerControls:
    """The command, the page and the open questions of one run of the plugin. Use it on the host's loop."""

    def __init__(self, servers: PluginServers, send: SendText, tasks: BackgroundTasks) -> None:
        self._servers = servers
        self._send = send
        self._tasks = tasks
        actions = OwnerActions(servers, servers.switches)
        self.chats = ChatStreams()
        self.consents = Consents(actions, self.chats, send, Numbers(servers.data_dir / "questions.json"))
        self.page = OwnerPage(actions, CONFIG_FILE, tasks)
        self._command = OwnerCommand(actions, self.consents)

    def is_owner(self, user: str) -> bool:
        """Return whether `<platform>:<id>` is one of the configured owners."""
        return user in self._servers.config.owners

    def run_command(self, text: str, stream_id: str) -> None:
        """Run `/mcp` in the background: the host waits for a command only for a short time."""

        async def reply(answer: str) -> None:
            await self._send(stream_id, answer)

        self._tasks.start(self._command.run(text, stream_id, reply), "the command /mcp")

    def overview(self) -> dict[str, Any]:
        """Return what the page shows."""
        return self.page.overview(self._servers.visible)
