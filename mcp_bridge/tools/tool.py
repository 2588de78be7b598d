"""The tools of a server as it lists them, and as a model is shown them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..text import json_text
from ..text.cleaning import clean_label, truncate
from ..text.redaction import masked_value
from .arguments.repair import repair_arguments
from .names import ToolId, plain_name
from .schema.shown import ShownSchema, UnusableSchema, show

logger = logging.getLogger(__name__)
MAX_TOOLS = 5_000
"""Tools taken from one server."""
_NAME_CHARS = 80
MAX_REMOTE_NAME = 1_000
"""Longest tool name taken from a server, in characters."""


@dataclass(frozen=True)
class RemoteTool:
    """A tool as its server describes it, in JSON values; only its name has been checked."""

    server: str
    remote_name: str
    description: str = ""
    input_schema: Any = None
    annotations: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> ToolId:
        return ToolId(self.server, self.remote_name)

    def to_json(self) -> dict[str, Any]:
        """Return the tool in the form that `parse_tool` reads."""
        return {
            "name": self.remote_name,
            "description": self.description,
            "inputSchema": self.input_schema,
            "annotations": self.annotations,
        }


@dataclass(frozen=True)
class Tool:
    """A tool as a model is shown it. `input_schema` is exactly what the model API receives."""

    name: str
    server: str
    remote_name: str
    description: str
    input_schema: dict[str, Any]
    annotations: Mapping[str, Any]
    _remote: RemoteTool = field(repr=False, compare=False)
    _shown: ShownSchema = field(repr=False, compare=False)

    @property
    def id(self) -> ToolId:
        return ToolId(self.server, self.remote_name)

    @property
    def inputSchema(self) -> dict[str, Any]:
        """`input_schema` under its name in the protocol, which other programs use."""
        return self.input_schema

    @property
    def schema_warnings(self) -> tuple[str, ...]:
        """How the shown schema differs from the server's own, for the owner."""
        return self._shown.warnings

    def arguments_for_server(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return a model's arguments under the server's parameter names, repaired by the server's schema."""
        return repair_arguments(self._shown.restore(arguments), self._remote.input_schema)


@dataclass(frozen=True)
class Listing:
    """The tools of a server; `problems` tells the owner what could not be used, one line each."""

    tools: tuple[RemoteTool, ...] = ()
    problems: tuple[str, ...] = ()


def masked(listing: Listing, redact: Callable[[str], str]) -> Listing:
    """Return a listing with secrets of the configuration masked; servers repeat them in descriptions.

    A tool whose name contains one is left out: under another name it could not be called.
    """
    tools, problems = [], list(listing.problems)
    for tool in listing.tools:
        if (name := redact(tool.remote_name)) != tool.remote_name:
            problems.append(f"tool '{truncate(clean_label(name), _NAME_CHARS)}' left out: its name contains a secret")
            continue
        shown = [tool.description, tool.input_schema, tool.annotations]
        if (clean := masked_value(shown, redact)) != shown:
            description, schema, annotations = clean
            tool = replace(tool, description=description, input_schema=schema, annotations=annotations)
        tools.append(tool)
    return Listing(tuple(tools), tuple(problems))


def parse_tools(server: str, entries: list[Any]) -> Listing:
    """Return the usable tools of a list; a broken entry does not affect the others."""
    tools: dict[str, RemoteTool] = {}
    problems: list[str] = []
    for index, entry in enumerate(entries):
        try:
            tool = parse_tool(server, entry)
        except ValueError as error:
            problems.append(f"tool number {index + 1} of its list left out: {error}")
            continue
        if tool.remote_name in tools:
            shown = truncate(clean_label(tool.remote_name), 80)
            problems.append(f"tool '{shown}' is listed twice; the first is used")
        else:
            tools[tool.remote_name] = tool
    return Listing(tuple(tools.values()), tuple(problems))


def parse_tool(server: str, entry: Any) -> RemoteTool:
    """Return one entry of a tool list. Raises `ValueError` if it has no usable name."""
    if not isinstance(entry, Mapping):
        raise ValueError(f"it is {type(entry).__name__}, not an object")
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ValueError("it has no name")
    if len(name) > MAX_REMOTE_NAME:
        raise ValueError(f"its name has {len(name)} characters")
    output = entry.get("outputSchema")
    if output is not None and not (isinstance(output, Mapping) and output.get("type") == "object"):
        # No loss: it only describes results, and they are not validated.
        logger.debug("ignored the outputSchema of tool '%s' of '%s'", truncate(clean_label(name), 80), server)
    annotations = entry.get("annotations")
    annotations = annotations if isinstance(annotations, Mapping) else {}
    return RemoteTool(
        server=server,
        remote_name=name,
        description=_description(entry.get("description"), entry.get("title"), annotations.get("title")),
        input_schema=json_text.plain(entry.get("inputSchema")),
        annotations=json_text.plain(annotations),
    )


def _description(*candidates: object) -> str:
    """Return the first text with visible content."""
    return next((text for text in candidates if isinstance(text, str) and clean_label(text)), "")


def present(
    name: str,
    remote: RemoteTool,
    *,
    profile: Literal["default", "strict"] = "default",
    max_description_chars: int = 1024,
) -> Tool | None:
    """Return a tool as a model is shown it, None if no model API would accept its schema.

    Descriptions are cut to `max_description_chars` characters.
    """
    try:
        shown = show(remote.input_schema, profile=profile, max_description_chars=max_description_chars)
    except UnusableSchema as error:
        logger.warning("tool '%s' of MCP server '%s' left out: %s", _label(remote), remote.server, error)
        return None
    for warning in shown.warnings:
        logger.debug("schema of %s: %s", name, warning)
    return Tool(
        name=name,
        server=remote.server,
        remote_name=remote.remote_name,
        description=_describe(name, remote, max_description_chars),
        input_schema=shown.schema,
        annotations=remote.annotations,
        _remote=remote,
        _shown=shown,
    )


def _label(remote: RemoteTool) -> str:
    return truncate(clean_label(remote.remote_name), 80)


def _describe(name: str, remote: RemoteTool, limit: int) -> str:
    """Return the server's description after the names of the server and, where it differs, of the tool."""
    parts = [f"[MCP:{clean_label(remote.server)}]"]
    label = _label(remote)
    if name != plain_name(remote.server, remote.remote_name) or not name.endswith(f"_{label}"):
        parts.append(f"(tool '{label}')")
    parts.append(clean_label(remote.description) or f"Tool '{label}' of MCP server '{clean_label(remote.server)}'.")
    description = truncate(" ".join(parts), limit)
    if len(description) == limit and description.endswith("…"):
        logger.info("the description of %s was cut to %d characters", name, limit)
    return description
