"""One structured line for each call, an entry in the ledger, and a span where OpenTelemetry is installed."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import BridgeError, CallTimeout, PermissionDenied, ServerUnavailable
from ..text import json_text
from ..text.cleaning import clean_label, truncate
from ..tools.result import ToolResult
from .call import Call, Proceed
from .ledger import CallRecord, Ledger, Outcome
from .spans import start_span

logger = logging.getLogger(__name__)

_ERROR_CHARS = 500
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/@")


class Trace:
    """Middleware that notes every call, whatever becomes of it."""

    def __init__(self, ledger: Ledger, redact: Callable[[str], str]) -> None:
        self._ledger = ledger
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
                    chat=call.chat,
                    user=call.user,
                    seconds=time.perf_counter() - began,
                    outcome=outcome,
                    sent=_size(call.arguments),
                    text=len(result.text) if result else 0,
                    media=sum(len(media.data) for media in result.media) if result else 0,
                    error=truncate(self._redact(clean_label(error)), _ERROR_CHARS),
                )
                self._ledger.add(record)
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
    fields |= {key: value for key, value in (("chat", record.chat), ("user", record.user)) if value is not None}
    fields |= {"ms": round(record.seconds * 1000), "outcome": record.outcome}
    fields |= {"sent": record.sent, "text": record.text, "media": record.media}
    if record.outcome in ("denied", "failed"):
        fields["error"] = record.error
    return "mcp call " + " ".join(f"{key}={_quoted(value)}" for key, value in fields.items())


def _quoted(value: object) -> str:
    text = clean_label(str(value))
    return text if text and _PLAIN.issuperset(text) else json.dumps(text, ensure_ascii=False)
