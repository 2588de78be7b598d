"""`/mcp`: what the owner types in a chat, and what is answered."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from ...bridge.bridge import ServerStatus
from ...calls.ledger import Figures
from ...errors import BridgeError
from ...text.cleaning import truncate
from .consent import Consents
from .desk import OwnerActions

PATTERN = r"^\s*/mcp(?:\s+(?P<words>[\s\S]*))?$"
"""What the host looks for in a message."""
EXAMPLE = 'mcp_calculator_add {"a": 5, "b": 3}'
MAX_LINES = 40
MAX_REASON_CHARS = 200
MAX_ANSWER_CHARS = 1500
"""Longer answers of a tool are cut: they are for a chat."""
_MARKS = {"ready": "●", "starting": "◌", "retrying": "◌", "failed": "○", "disabled": "–"}

Say = Callable[[str], Awaitable[object]]


class OwnerCommand:
    """Answers `/mcp`; who may use it is not decided here."""

    def __init__(self, desk: OwnerActions, consents: Consents) -> None:
        self._desk = desk
        self._consents = consents

    async def run(self, words: str, say: Say) -> None:
        """Do what the words after `/mcp` ask for; everything worth saying goes through `say`."""
        verb, _, rest = words.strip().partition(" ")
        rest = rest.strip()
        try:
            match verb.lower():
                case "" | "status" | "状态":
                    await say(self.status())
                case "tools" | "工具":
                    await say(self.tools(rest))
                case "reload" | "refresh" | "重载":
                    await say(self._desk.words("reloading"))
                    await say(self._desk.words("reloaded", tools=await self._desk.refresh()))
                case "on" | "off" if rest:
                    await say(await self._desk.switch(rest, on=verb.lower() == "on"))
                case "call" | "调用":
                    await say(await self.call(rest))
                case "yes" | "no":
                    number = re.search(r"\d+", rest)
                    await say(self._consents.answer(int(number[0]) if number else None, yes=verb.lower() == "yes"))
                case _:
                    await say(self._desk.words("help"))
        except BridgeError as error:
            await say(error.message)

    def status(self) -> str:
        """Return how the servers are doing, a line each and one for the reason where one is not well."""
        words, servers = self._desk.words, self._desk.servers()
        if not servers:
            return words("status.none")
        lines = [words("status", servers=len(servers), tools=len(self._desk.tools()))]
        for server in servers:
            lines += self._server(server)
        return _joined(lines, words("more", count="{count}"))

    def tools(self, server: str) -> str:
        """Return the tools of a server, or of all, with their figures."""
        words = self._desk.words
        names = [one.name for one in self._desk.servers()]
        if server and server not in names:
            return words("no_server", name=server, names=", ".join(names))
        chosen = [tool for tool in self._desk.tools() if not server or tool.server == server]
        lines = []
        for tool in chosen:
            figures = self._desk.figures(tool)
            counts = {"calls": figures.calls, "failures": figures.failures, "ms": _ms(figures)}
            lines.append(words("tool", name=tool.name, **counts) if figures.calls else tool.name)
        return _joined(lines, words("more", count="{count}")) if lines else words("tools.none")

    async def call(self, text: str) -> str:
        """Try a tool; `text` is its name and perhaps JSON arguments."""
        name, _, arguments = text.partition(" ")
        words = self._desk.words
        if not name:
            return words("call.usage", example=EXAMPLE)
        trial = await self._desk.try_tool(name, arguments.strip())
        answer = truncate(trial.text, MAX_ANSWER_CHARS)
        if not trial.ok:
            return words("call.failed", name=name, text=answer)
        return words("call.done", name=name, ms=round(trial.seconds * 1000), text=answer)

    def _server(self, server: ServerStatus) -> list[str]:
        words = self._desk.words
        state = words(f"state.{server.state}")
        line = words("server", mark=_MARKS[server.state], name=server.name, state=state, tools=server.tools)
        if server.calls:
            median = "-" if server.median_seconds is None else round(server.median_seconds * 1000)
            line += words("server.calls", calls=server.calls, failures=server.failures, ms=median)
        lines = [line]
        if server.name in self._desk.switches.off:
            lines.append("  " + words("server.off", name=server.name))
        elif server.reason:
            lines.append("  " + words("server.reason", reason=truncate(server.reason, MAX_REASON_CHARS)))
        return lines


def _ms(figures: Figures) -> object:
    return "-" if figures.median_seconds is None else round(figures.median_seconds * 1000)


def _joined(lines: list[str], more: str) -> str:
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], more.format(count=len(lines) - MAX_LINES)]
    return "\n".join(lines)
