"""The page in MaiBot's web UI (`webui.json`, host >= 1.3.6): its data, and what its buttons do.

The host shows only what a query returns, so the outcome of a button is part of the next overview.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import shlex
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from ...calls.ledger import Figures
from ...config.bridge_config import parse_config
from ...errors import BridgeError
from ...text.cleaning import clean_label, truncate
from ...tools.tool import Tool
from ..owner.desk import OwnerActions, Trial

logger = logging.getLogger(__name__)

ANSWER_SECONDS = 8.0
"""How long a button may work before it answers: the host gives up after 10 s."""
MAX_ROWS = 300
MAX_SCHEMA_CHARS = 3000
MAX_NOTICE_CHARS = 6000
MAX_REASON_CHARS = 500


class OwnerPage:
    """What the page shows, and the outcome of its last button."""

    def __init__(self, desk: OwnerActions, config_file: Path) -> None:
        self._desk = desk
        self._file = config_file
        self._notice = ""
        self._running: set[asyncio.Task[Any]] = set()

    def overview(self, visible: Collection[str]) -> dict[str, Any]:
        """Return all that the page shows; `visible` names the tools that are in every prompt."""
        desk, tools = self._desk, self._desk.tools()
        servers, costs = desk.servers(), {tool.name: estimate_tokens(tool) for tool in tools}
        return {
            "ready": f"{sum(one.state == 'ready' for one in servers)} / {len(servers)}",
            "tool_count": f"{sum(tool.name in visible for tool in tools)} / {len(tools)}",
            "calls": sum(server.calls for server in servers),
            "tokens": sum(cost for name, cost in costs.items() if name in visible),
            "notice": self._notice,
            "servers": [
                {
                    "name": one.name,
                    "state": desk.words(f"state.{one.state}"),
                    "tools": one.tools,
                    "calls": one.calls,
                    "failures": one.failures,
                    "ms": _ms(one.median_seconds),
                    "reason": truncate(self._reason(one.name, one.reason), MAX_REASON_CHARS),
                    "last_error": truncate(one.last_error, MAX_REASON_CHARS),
                }
                for one in servers
            ],
            "tools": [
                {
                    "name": tool.name,
                    "server": tool.server,
                    "description": tool.description,
                    "schema": truncate(json.dumps(tool.input_schema, ensure_ascii=False, indent=1), MAX_SCHEMA_CHARS),
                    "shown": "●" if tool.name in visible else "○",
                    "tokens": costs[tool.name],
                    **_figures(desk.figures(tool)),
                }
                for tool in tools[:MAX_ROWS]
            ],
            "recent": [
                {
                    "at": time.strftime("%m-%d %H:%M:%S", time.localtime(record.at)),
                    "server": record.server,
                    "tool": truncate(clean_label(record.tool), 80),
                    "chat": record.caller.chat or "-",
                    "ms": round(record.seconds * 1000),
                    "outcome": record.outcome,
                    "error": record.error,
                }
                for record in desk.ledger.recent()
            ],
            "hours": [
                {"hour": time.strftime("%H:00", time.localtime(at)), "calls": count}
                for at, count in desk.ledger.per_hour(time.time())
            ],
        }

    async def refresh(self) -> dict[str, Any]:
        """Look at all servers again."""
        return await self._button(self._refresh(), self._desk.words("reloading"))

    async def switch(self, server: str, *, on: bool) -> dict[str, Any]:
        """Switch a server on or off."""
        return await self._button(self._desk.switch(server, on=on), server)

    async def try_tool(self, tool: str, arguments: str) -> dict[str, Any]:
        """Call a tool with JSON arguments, as the owner."""
        return await self._button(self._try(tool, arguments), self._desk.words("page.running", name=tool))

    async def add_server(self, name: str, command: str, url: str, bearer: str, env: str) -> dict[str, Any]:
        """Write a server into config.toml, which the host then takes in."""
        return await self._button(asyncio.to_thread(self._add, name.strip(), command, url, bearer, env), name)

    def stop(self) -> None:
        """End what buttons have begun and is still running."""
        for task in self._running:
            task.cancel()

    async def _button(self, work: Any, meanwhile: str) -> dict[str, Any]:
        """Do something and show its outcome, or, if it takes long, that it goes on."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._ended)
        self._notice = meanwhile
        await asyncio.wait({task}, timeout=ANSWER_SECONDS)
        return {"message": self._notice}

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None and not isinstance(error, BridgeError):
            logger.error("a button of the page failed: %r", error)
        self._notice = truncate(str(error or task.result()), MAX_NOTICE_CHARS)

    async def _refresh(self) -> str:
        return self._desk.words("reloaded", tools=await self._desk.refresh())

    async def _try(self, tool: str, arguments: str) -> str:
        trial: Trial = await self._desk.try_tool(tool, arguments)
        if not trial.ok:
            return self._desk.words("call.failed", name=tool, text=trial.text)
        return self._desk.words("call.done", name=tool, ms=round(trial.seconds * 1000), text=trial.text)

    def _add(self, name: str, command: str, url: str, bearer: str, env: str) -> str:
        words = self._desk.words
        if not name:
            return words("page.name")
        if bool(command.strip()) == bool(url.strip()):
            return words("page.target")
        try:
            from ...store.config_toml import ConfigFile
        except ImportError:
            return words("page.tomlkit")
        entry = _entry(command.strip(), url.strip(), bearer.strip(), env)
        checked = parse_config({"mcp": {"servers": {name: entry}}}, file=self._file).servers[0]
        if checked.mistake is not None and checked.mistake.kind != "variable":
            return checked.mistake.text
        file = ConfigFile(self._file)
        if name in file.server_names():
            return words("page.taken", name=name)
        file.add_servers({name: entry}, private_as=self._file)
        logger.info("MCP server '%s' was written into config.toml by the owner", name)
        return words("page.added", name=name)

    def _reason(self, server: str, reason: str) -> str:
        return self._desk.words("server.off", name=server) if server in self._desk.switches.off else reason


def _entry(command: str, url: str, bearer: str, env: str) -> dict[str, Any]:
    """Return the table of a server as the form describes it."""
    if url:
        return {"url": url, **({"bearer": bearer} if bearer else {})}
    # Not as a shell would: a backslash is part of a Windows path.
    lexer = shlex.shlex(command, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.escape, lexer.commenters = True, "", ""
    try:
        program, *args = list(lexer)
    except ValueError:
        program, *args = command.split()
    variables = dict(pair.split("=", 1) for pair in env.split() if "=" in pair)
    return {"command": program, "args": args, **({"env": variables} if variables else {})}


def _figures(figures: Figures) -> dict[str, Any]:
    return {"calls": figures.calls, "failures": figures.failures, "ms": _ms(figures.median_seconds)}


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


_ASCII_CHARS_PER_TOKEN = 4
"""English and JSON; other scripts take about a token for each character (an estimate: models differ)."""


def estimate_tokens(tool: Tool) -> int:
    """Return about how many tokens the definition of a tool costs in every prompt that shows it."""
    definition = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    text = json.dumps(definition, ensure_ascii=False, separators=(",", ":"))
    plain = sum(character.isascii() for character in text)
    return math.ceil(plain / _ASCII_CHARS_PER_TOKEN) + len(text) - plain
