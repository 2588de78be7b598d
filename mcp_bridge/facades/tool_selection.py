"""Which tools a toolset offers, and under which names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from ..tools.names import assign_names
from ..tools.tool import Tool

ToolFilter = Callable[[Tool], bool] | Collection[str]
"""A predicate, or the names of the tools to keep: the server's own or the functions'."""


def matches_filter(tool: Tool, tool_filter: ToolFilter | None) -> bool:
    """Return whether a toolset offers `tool`; without a filter it offers every tool."""
    if tool_filter is None:
        return True
    if callable(tool_filter):
        return tool_filter(tool)
    names = (tool_filter,) if isinstance(tool_filter, str) else tool_filter
    return tool.remote_name in names or tool.name in names


def with_prefix(tools: Iterable[Tool], prefix: str | None) -> dict[str, Tool]:
    """Return the tools by the names that the bridge calls them by.

    The tools themselves carry the function names: with a prefix, that and the server's own name;
    without one, the bridge's name.
    """
    by_name = {tool.name: tool for tool in tools}
    if prefix is None:
        return by_name
    renamed = assign_names(by_name.values(), prefix=prefix)
    return {tool.name: replace(tool, name=name) for name, tool in renamed.items()}
