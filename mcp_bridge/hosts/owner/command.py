"""The command `/mcp` of the owner, and its answers in the chat."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from ...bridge.bridge import ServerStatus
from ...errors import BridgeError
from ...text.cleaning import truncate
from .actions import OwnerActions
from .consent import Consents

PATTERN = r"^\s*/mcp(?:\s+(?P<words>[\s\S]*))?$"
"""Messages that are the command."""
EXAMPLE = 'mcp_calculator_add {"a": 5, "b": 3}'
MAX_LINES = 40
MAX_REASON_CHARS = 200
MAX_ANSWER_CHARS = 1500
"""Longest answer of a tool shown in a chat; longer ones are cut."""
_MARKS = {"ready": "●", "starting": "◌", "retrying": "◌", "failed": "○", "disabled": "–"}

Reply = Callable[[str], Awaitable[object]]
"""Sends a text into the chat of the command."""


class OwnerCommand:
    """Runs `/mcp`. The host checks first whether the sender is an owner."""

    def __init__(self, actions: OwnerActions, consents: Consents) -> None:
        self._actions = actions
        self._consents = consents

    async def run(self, text: str, stream_id: str, reply: Reply) -> None:
        """Run the command of a chat; `text` is what follows `/mcp`. May reply more than once."""
        verb, _, rest = text.strip().partition(" ")
        rest = rest.strip()
        try:
            match verb.lower():
                case "" | "status" | "状态":
                    await reply(self.status())
                case "tools" | "工具":
                    await reply(self.tools(rest))
                case "reload" | "refresh" | "重载":
                    await reply(self._actions.texts("reloading"))
                    await reply(self._actions.texts("reloaded", tools=await self._actions.refresh()))
                case "on" | "off" if rest:
                    await reply(await self._actions.switch(rest, on=verb.lower() == "on"))
                case "call" | "调用":
                    await reply(await self.call(rest))
                case "yes" | "no":
                    number = re.search(r"\d+", rest)
                    named = int(number[0]) if number else None
                    await reply(self._consents.answer(named, stream_id, yes=verb.lower() == "yes"))
                case _:
                    await reply(self._actions.texts("help"))
        except BridgeError as error:
            await reply(error.message)

    def status(self) -> str:
        """Return the state of each server, with the reason of one that is not ready."""
        texts, servers = self._actions.texts, self._actions.servers()
        if not servers:
            return texts("status.none")
        lines = [texts("status", servers=len(servers), tools=len(self._actions.tools()))]
        for server in servers:
            lines += self._server(server)
        return _joined(lines, texts("more", count="{count}"))

    def tools(self, server: str) -> str:
        """Return the tools of a server, or of all, with their call statistics."""
        texts = self._actions.texts
        names = [one.name for one in self._actions.servers()]
        if server and server not in names:
            return texts("no_server", name=server, names=", ".join(names))
        chosen = [tool for tool in self._actions.tools() if not server or tool.server == server]
        lines = []
        for tool in chosen:
            figures = self._actions.figures(tool)
            counts = {"calls": figures.calls, "failures": figures.failures, "ms": _ms(figures.median_seconds)}
            lines.append(texts("tool", name=tool.name, **counts) if figures.calls else tool.name)
        return _joined(lines, texts("more", count="{count}")) if lines else texts("tools.none")

    async def call(self, text: str) -> str:
        """Try a tool; `text` is its name and optional JSON arguments."""
        name, _, arguments = text.partition(" ")
        texts = self._actions.texts
        if not name:
            return texts("call.usage", example=EXAMPLE)
        tried = await self._actions.try_tool(name, arguments.strip())
        answer = truncate(tried.text, MAX_ANSWER_CHARS)
        if not tried.ok:
            return texts("call.failed", name=name, text=answer)
        return texts("call.done", name=name, ms=_ms(tried.seconds), text=answer)

    def _server(self, server: ServerStatus) -> list[str]:
        texts = self._actions.texts
        state = texts(f"state.{server.state}")
        line = texts("server", mark=_MARKS[server.state], name=server.name, state=state, tools=server.tools)
        if server.calls:
            ms = _ms(server.median_seconds)
            line += texts("server.calls", calls=server.calls, failures=server.failures, ms=ms)
        lines = [line]
        if server.name in self._actions.switches.off:
            lines.append("  " + texts("server.off", name=server.name))
        elif server.reason:
            lines.append("  " + texts("server.reason", reason=truncate(server.reason, MAX_REASON_CHARS)))
        return lines


def _ms(seconds: float | None) -> object:
    return "-" if seconds is None else round(seconds * 1000)


def _joined(lines: list[str], more: str) -> str:
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], more.format(count=len(lines) - MAX_LINES)]
    return "\n".join(lines)
