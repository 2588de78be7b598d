"""OpenTelemetry spans of calls, if its API is installed (names: "Semantic conventions for MCP")."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any


class Span:
    """A span that is being recorded, or nothing where OpenTelemetry is not installed."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def end(self, outcome: str) -> None:
        """Say how the call ended."""
        if self._span is not None and outcome != "ok":
            self._span.set_attribute("error.type", outcome)
            self._span.set_status(_api().StatusCode.ERROR)


@contextmanager
def start_span(server: str, tool: str) -> Iterator[Span]:
    """Record a span around a call."""
    api = _api()
    if api is None or isinstance(api.get_tracer_provider(), api.ProxyTracerProvider):  # nobody records anything
        yield Span()
        return
    attributes = {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "mcp_bridge.server": server,
    }
    tracer = api.get_tracer("mcp_bridge")
    kind = api.SpanKind.CLIENT
    # What failed is in `error.type`; an exception's text could hold what a chat must not spread.
    with tracer.start_as_current_span(
        f"tools/call {tool}", kind=kind, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        yield Span(span)


@cache
def _api() -> Any:
    """Return `opentelemetry.trace`, None if it is not installed."""
    try:
        return import_module("opentelemetry.trace")
    except ImportError:
        return None
