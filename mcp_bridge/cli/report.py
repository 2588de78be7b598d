"""What the command line prints: tables for people, one JSON document for programs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..bridge.bridge import ServerStatus
from ..errors import BridgeError
from ..hosts.openai import Answer
from ..store.approvals import Change
from ..text import json_text
from ..text.cleaning import clean_label, clean_text, truncate
from ..tools.result import Media, ToolResult
from ..tools.tool import Tool

DESCRIPTION_CHARS = 60
_COLOURS = {"ready": "green", "added": "green", "failed": "red", "disabled": "dim", "skipped": "dim"}


class Report:
    """Prints for people, or for programs if `as_json`. Uses rich where it is installed."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json

    @contextmanager
    def progress(self, doing: str) -> Iterator[None]:
        """Show on stderr what is being done, if stderr is a terminal."""
        with contextlib.ExitStack() as stack:
            if sys.stderr.isatty() and not self.as_json:
                try:
                    from rich.console import Console
                except ImportError:
                    print(f"{doing} …", file=sys.stderr)
                else:
                    stack.enter_context(Console(stderr=True).status(f"{doing} …"))
            yield

    def say(self, text: str = "") -> None:
        """Print a line for people only."""
        if not self.as_json:
            print(text)

    def piece(self, text: str) -> None:
        """Print a piece of a model's text as it arrives, for people only."""
        if not self.as_json:
            print(clean_text(text), end="", flush=True)

    def listing(self, tools: Sequence[Tool], status: Sequence[ServerStatus]) -> None:
        """Print tools and servers."""
        if self.as_json:
            self.document({"tools": [_tool(tool) for tool in tools], "servers": [_server(one) for one in status]})
            return
        self.tools(tools)
        self.servers(status)

    def tools(self, tools: Sequence[Tool]) -> None:
        rows = [
            (
                tool.name,
                ", ".join(tool.input_schema["properties"]),
                truncate(tool.description, DESCRIPTION_CHARS),
            )
            for tool in tools
        ]
        self._table("Tools", ("name", "parameters", "description"), rows)

    def servers(self, status: Sequence[ServerStatus]) -> None:
        rows = [(one.name, _state(one), str(one.tools), one.reason) for one in status]
        self._table("Servers", ("name", "state", "tools", "reason"), rows)

    def result(self, name: str, result: ToolResult, seconds: float, paths: Mapping[Media, str]) -> None:
        """Print the result of a call; `paths` are the files that its media were saved to."""
        if self.as_json:
            media = [
                {"type": one.type, "mime_type": one.mime_type, "bytes": len(one.data)}
                | ({"path": paths[one]} if one in paths else {})
                for one in result.media
            ]
            self.document(
                {
                    "name": name,
                    "text": result.text,
                    "is_error": result.is_error,
                    "structured": result.structured,
                    "media": media,
                    "seconds": round(seconds, 3),
                }
            )
            return
        print(f"error: {result.text}" if result.is_error else result.text)
        for path in paths.values():
            print(f"saved: {path}")

    def turn(self, text: str, answers: Sequence[Answer]) -> None:
        """Print a model's answer and its tool calls, for programs only: people have seen them already."""
        if self.as_json:
            calls = [
                {"name": one.call.name, "is_error": one.is_error, "seconds": round(one.seconds, 3)} for one in answers
            ]
            self.document({"text": text, "calls": calls})

    def accepted(self, server: str, changes: Sequence[Change]) -> None:
        """Print which changed tools were accepted."""
        if self.as_json:
            shown = [{"tool": change.tool, "difference": change.difference} for change in changes]
            self.document({"server": server, "accepted": shown})
            return
        for change in changes:
            print(f"accepted: {clean_label(change.tool)} ({change.difference})")
        print(f"{len(changes)} changed tools of '{server}' accepted" if changes else "no tool had changed")

    def imported(self, added: Mapping[str, Sequence[str]], skipped: Mapping[str, str], config: str) -> None:
        """Print which servers were written, with notes on each, and which were skipped, with the reason."""
        if self.as_json:
            reasons = [{"name": name, "reason": reason} for name, reason in skipped.items()]
            self.document({"added": list(added), "skipped": reasons, "config": config})
            for name, notes in added.items():
                for note in notes:
                    print(f"{clean_label(name)}: {clean_label(note)}", file=sys.stderr)
            return
        rows = [(name, "added", "; ".join(notes)) for name, notes in added.items()]
        rows += [(name, "skipped", reason) for name, reason in skipped.items()]
        self._table("Servers", ("name", "result", "remark"), rows)
        print(f"{len(added)} servers written to {config}" if added else f"nothing was written to {config}")

    def error(self, error: BridgeError) -> None:
        """Print why a command failed: on stderr for people, as the JSON document for programs."""
        if self.as_json:
            kind = type(error).__name__
            self.document({"error": {"type": kind, "message": error.message, "server": error.server}})
        else:
            print(f"error: {error.message}", file=sys.stderr)

    def document(self, document: Any) -> None:
        """Print the JSON document of this command; called once."""
        print(json_text.dumps(document, indent=2))

    def _table(self, title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
        rows = [tuple(clean_label(cell) for cell in row) for row in rows]
        try:
            from rich.console import Console
            from rich.table import Table
            from rich.text import Text
        except ImportError:
            _plain_table(title, head, rows)
            return
        table = Table(title=title, title_justify="left")
        for column in head:  # the first column holds names, which people copy into other commands
            table.add_column(column, no_wrap=column == head[0], overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell, style=_COLOURS.get(cell, "")) for cell in row))
        Console(soft_wrap=not sys.stdout.isatty()).print(table)


def _plain_table(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    print(title)
    for row in (head, *rows):
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _state(status: ServerStatus) -> str:
    """Return the state to print: a server that is not ready yet counts as failed."""
    return status.state if status.state in ("ready", "disabled") else "failed"


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "server": tool.server,
        "remote_name": tool.remote_name,
        "description": tool.description,
        "input_schema": tool.input_schema,
    }


def _server(status: ServerStatus) -> dict[str, Any]:
    reason = status.reason or ("still starting" if status.state == "starting" else "")
    return {
        "name": status.name,
        "state": _state(status),
        "reason": reason,
        "tools": status.tools if status.state == "ready" else 0,
    }
