"""Record every call: a structured log line, the statistics, and a span if OpenTelemetry is installed."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from importlib import import_module
from typing import Any

from ..errors import BridgeError, CallTimeout, PermissionDenied, ServerUnavailable
from ..text import json_text
from ..text.cleaning import clean_label, truncate
from ..tools.result import ToolResult
from .call import Call, Proceed
from .call_stats import CallRecord, CallStats, Outcome

logger = logging.getLogger(__name__)

_ERROR_CHARS = 500
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/@")


class Trace:
    """Middleware that records every call, however it ends."""

    def __init__(self, stats: CallStats, redact: Callable[[str], str]) -> None:
        self._stats = stats
        self._redact = redact

    async def __call__(self, call: Call, proceed: Proceed) -> ToolResult:
        began = time.perf_counter()
        at = time.time()
        outcome: Outcome = "failed"
        error, result = "", None
        with start_span(call.tool.server, call.tool.remote_name) as span:
            try:
                result = await proceed(call)
                outcome = "tool_error" if result.is_error else "ok"
                error = result.text if result.is_error else ""
                return result
            except BridgeError as failure:
                outcome, error = _outcome(failure), failure.message
                raise
            except asyncio.CancelledError:
                outcome = "cancelled"
                raise
            finally:
                span.end(outcome)
                record = CallRecord(
                    at=at,
                    server=call.tool.server,
                    tool=call.tool.remote_name,
                    caller=call.caller,
                    seconds=time.perf_counter() - began,
                    outcome=outcome,
                    sent=_size(call.arguments),
                    text=len(result.text) if result else 0,
                    media=sum(len(media.data) for media in result.media) if result else 0,
                    error=truncate(self._redact(clean_label(error)), _ERROR_CHARS),
                )
                self._stats.add(record)
                level = logging.WARNING if outcome == "denied" else logging.INFO
                if logger.isEnabledFor(level):
                    logger.log(level, "%s", _line(record))


def _outcome(error: BridgeError) -> Outcome:
    match error:
        case PermissionDenied():
            return "denied"
        case CallTimeout():
            return "timeout"
        case ServerUnavailable():
            return "unavailable"
        case _:
            return "failed"


def _size(arguments: Mapping[str, Any] | str | None) -> int:
    return len(arguments) if isinstance(arguments, str) else len(json_text.dumps(arguments or {}))


def _line(record: CallRecord) -> str:
    """Return `mcp call server=calculator tool=add chat=qq:group:1 ms=3 outcome=ok sent=12 text=3 media=0`."""
    fields: dict[str, object] = {"server": record.server, "tool": record.tool}
    fields |= {key: value for key, value in asdict(record.caller).items() if value is not None}
    fields |= {"ms": round(record.seconds * 1000), "outcome": record.outcome}
    fields |= {"sent": record.sent, "text": record.text, "media": record.media}
    if record.outcome in ("denied", "failed"):
        fields["error"] = record.error
    return "mcp call " + " ".join(f"{key}={_quoted(value)}" for key, value in fields.items())


def _quoted(value: object) -> str:
    text = clean_label(str(value))
    return text if text and _PLAIN.issuperset(text) else json.dumps(text, ensure_ascii=False)


class Span:
    """A span that is being recorded; does nothing if none is."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def end(self, outcome: str) -> None:
        """Set the outcome of the call."""
        if self._span is not None and outcome != "ok":
            self._span.set_attribute("error.type", outcome)
            self._span.set_status(_api().StatusCode.ERROR)


@contextmanager
def start_span(server: str, tool: str) -> Iterator[Span]:
    """Record a span around a call, if the program has set up OpenTelemetry."""
    api = _api()
    if api is None or isinstance(api.get_tracer_provider(), api.ProxyTracerProvider):  # nothing records spans
        yield Span()
        return
    attributes = {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "mcp_bridge.bridge.server": server,
    }
    tracer = api.get_tracer("mcp_bridge")
    kind = api.SpanKind.CLIENT
    # `error.type` has the kind of failure; the text of an exception could hold private data.
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
