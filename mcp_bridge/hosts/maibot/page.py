"""The page in MaiBot's web UI (`webui.json`, host >= 1.3.6): its data and the actions of its buttons.

The host shows only what a query returns, so the outcome of a button is part of the next overview.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import shlex
import time
from collections.abc import Collection, Coroutine
from pathlib import Path
from typing import Any

from ...bridge.bridge import ServerStatus
from ...calls.call_stats import CallRecord
from ...config.bridge_config import parse_config
from ...errors import BridgeError
from ...text.cleaning import clean_label, truncate
from ...tools.tool import Tool
from ..owner.actions import OwnerActions
from ..owner.background import BackgroundTasks

logger = logging.getLogger(__name__)

ANSWER_SECONDS = 8.0
"""How long a button waits for its outcome: the host gives up after 10 s."""
MAX_ROWS = 300
MAX_SCHEMA_CHARS = 3000
MAX_NOTICE_CHARS = 6000
MAX_REASON_CHARS = 500
ASCII_CHARS_PER_TOKEN = 4
"""In English and JSON; other scripts take about one token for each character."""


class OwnerPage:
    """The data of the page, with the outcome of the last button."""

    def __init__(self, actions: OwnerActions, config_file: Path, tasks: BackgroundTasks) -> None:
        self._actions = actions
        self._file = config_file
        self._tasks = tasks
        self._notice = ""

    def overview(self, visible: Collection[str]) -> dict[str, Any]:
        """Return what the page shows; `visible` are the names of the tools declared as visible."""
        tools, servers, stats = self._actions.tools(), self._actions.servers(), self._actions.call_stats
        costs = {tool.name: estimate_tokens(tool, visible=tool.name in visible) for tool in tools}
        shown = sum(cost for name, cost in costs.items() if name in visible)
        return {
            "ready": f"{sum(one.state == 'ready' for one in servers)} / {len(servers)}",
            "tool_count": f"{sum(tool.name in visible for tool in tools)} / {len(tools)}",
            "calls": sum(server.calls for server in servers),
            "tokens": shown,
            "prompt_tokens": f"{shown} + {sum(costs.values()) - shown}",
            "notice": self._notice,
            "servers": [self._server_row(one) for one in servers],
            "tools": [self._tool_row(one, costs[one.name], one.name in visible) for one in tools[:MAX_ROWS]],
            "recent": [_call_row(record) for record in stats.recent()],
            "hours": [
                {"hour": time.strftime("%H:00", time.localtime(at)), "calls": count}
                for at, count in stats.per_hour(time.time())
            ],
        }

    async def refresh(self) -> dict[str, Any]:
        """List the tools of all servers again."""
        return await self._button(self._refresh(), self._actions.texts("reloading"))

    async def switch(self, server: str, *, on: bool) -> dict[str, Any]:
        """Switch a server on or off."""
        return await self._button(self._actions.switch(server, on=on), server)

    async def try_tool(self, tool: str, arguments: str) -> dict[str, Any]:
        """Call a tool with JSON arguments, as the owner's own program."""
        return await self._button(self._try(tool, arguments), self._actions.texts("page.running", name=tool))

    async def add_server(self, name: str, command: str, url: str, bearer: str, env: str) -> dict[str, Any]:
        """Write a server into config.toml; the host then passes the edited file to the plugin."""
        return await self._button(asyncio.to_thread(self._add, name.strip(), command, url, bearer, env), name)

    async def _button(self, work: Coroutine[Any, Any, str], meanwhile: str) -> dict[str, Any]:
        """Run the work of a button, and return its outcome, or `meanwhile` if that takes too long."""
        self._notice = meanwhile
        task = self._tasks.start(self._show_outcome(work), "a button of the page")
        await asyncio.wait({task}, timeout=ANSWER_SECONDS)
        return {"message": self._notice}

    async def _show_outcome(self, work: Coroutine[Any, Any, str]) -> None:
        try:
            outcome = await work
        except BridgeError as error:
            outcome = error.message
        except Exception as error:
            self._notice = truncate(str(error) or type(error).__name__, MAX_NOTICE_CHARS)
            raise
        self._notice = truncate(outcome, MAX_NOTICE_CHARS)

    async def _refresh(self) -> str:
        return self._actions.texts("reloaded", tools=await self._actions.refresh())

    async def _try(self, tool: str, arguments: str) -> str:
        tried = await self._actions.try_tool(tool, arguments)
        if not tried.ok:
            return self._actions.texts("call.failed", name=tool, text=tried.text)
        return self._actions.texts("call.done", name=tool, ms=_ms(tried.seconds), text=tried.text)

    def _add(self, name: str, command: str, url: str, bearer: str, env: str) -> str:
        texts = self._actions.texts
        if not name:
            return texts("page.name")
        if bool(command.strip()) == bool(url.strip()):
            return texts("page.target")
        try:
            from ...store.config_toml import ConfigFile
        except ImportError:
            return texts("page.tomlkit")
        entry = _entry(command.strip(), url.strip(), bearer.strip(), env)
        checked = parse_config({"mcp": {"servers": {name: entry}}}, file=self._file).servers[0]
        if checked.mistake is not None and checked.mistake.kind != "variable":
            return checked.mistake.text
        file = ConfigFile(self._file)
        if name in file.server_names():
            return texts("page.taken", name=name)
        file.add_servers({name: entry}, private_as=self._file)
        logger.info("the owner added MCP server '%s' to config.toml", name)
        return texts("page.added", name=name)

    def _server_row(self, server: ServerStatus) -> dict[str, Any]:
        texts, name = self._actions.texts, server.name
        reason = texts("server.off", name=name) if name in self._actions.switches.off else server.reason
        return {
            "name": name,
            "state": texts(f"state.{server.state}"),
            "tools": server.tools,
            "calls": server.calls,
            "failures": server.failures,
            "ms": _ms(server.median_seconds),
            "reason": truncate(reason, MAX_REASON_CHARS),
            "last_error": truncate(server.last_error, MAX_REASON_CHARS),
        }

    def _tool_row(self, tool: Tool, tokens: int, visible: bool) -> dict[str, Any]:
        figures = self._actions.figures(tool)
        return {
            "name": tool.name,
            "server": tool.server,
            "description": tool.description,
            "schema": truncate(json.dumps(tool.input_schema, ensure_ascii=False, indent=1), MAX_SCHEMA_CHARS),
            "shown": "●" if visible else "○",
            "tokens": tokens,
            "calls": figures.calls,
            "failures": figures.failures,
            "ms": _ms(figures.median_seconds),
        }


def _call_row(record: CallRecord) -> dict[str, Any]:
    return {
        "at": time.strftime("%m-%d %H:%M:%S", time.localtime(record.at)),
        "server": record.server,
        "tool": truncate(clean_label(record.tool), 80),
        "chat": record.caller.chat or "-",
        "ms": _ms(record.seconds),
        "outcome": record.outcome,
        "error": record.error,
    }


def _entry(command: str, url: str, bearer: str, env: str) -> dict[str, Any]:
    """Return the table of a server from the fields of the form."""
    if url:
        return {"url": url, **({"bearer": bearer} if bearer else {})}
    # Unlike in a shell, a backslash does not escape: it is part of a Windows path.
    lexer = shlex.shlex(command, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.escape, lexer.commenters = True, "", ""
    try:
        program, *args = list(lexer)
    except ValueError:
        program, *args = command.split()
    variables = dict(pair.split("=", 1) for pair in env.split() if "=" in pair)
    return {"command": program, "args": args, **({"env": variables} if variables else {})}


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def estimate_tokens(tool: Tool, *, visible: bool) -> int:
    """Return about how many tokens a tool costs in every prompt.

    The host sends the definition of a visible tool, and lists each deferred one by name and
    description (read in MaiBot 1.3.15, `build_deferred_tools_reminder`).
    """
    if not visible:
        return _tokens(f"{tool.name}: {tool.description}")
    definition = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    return _tokens(json.dumps(definition, ensure_ascii=False, separators=(",", ":")))


def _tokens(text: str) -> int:
    """Estimate the tokens of a text; models differ."""
    ascii_chars = sum(character.isascii() for character in text)
    return math.ceil(ascii_chars / ASCII_CHARS_PER_TOKEN) + len(text) - ascii_chars
