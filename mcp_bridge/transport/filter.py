"""The filter between a stream of messages and the SDK's session.

The SDK alone loses to servers that people really run: an odd result or error makes it
wait until the timeout, an odd notification is logged with a traceback. So whatever the
server may say without being asked is answered or dropped here, and answers are put into
the one form that both majors of the SDK accept. Pure: messages in, messages out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..text import json_text
from ..text.cleaning import clean_label, truncate
from .correlation import METHOD_NOT_FOUND, PARSE_ERROR, Correlator, Pending, is_nameless, request_number
from .framing import Message, UnreadableAnswer
from .responses import _accept_defaults, error_object, is_error, result_object

logger = logging.getLogger(__name__)

_ALIAS = "mcp-bridge:"
_LOG_LEVELS = {"debug": 10, "info": 20, "notice": 20, "warning": 30}
_PROGRESS = ("progress", "total", "message")
_LOG_CHARS = 500
_METHOD_CHARS = 100
_UNCLEAN = 10
"""How many times as long as what is shown a text may be before it is cleaned: that costs 0.2 µs a character."""


@dataclass
class Hooks:
    """Who wants to know what a server says by itself. All are called on the loop and must not block."""

    on_progress: Callable[[object, str], None] = lambda token, text: None
    on_list_changed: Callable[[], None] = lambda: None
    on_log: Callable[[int, str], None] = lambda level, text: None
    on_answer: Callable[[int, Message], None] = lambda number, answer: None
    """The number of a request, as `alias` was given it, and the answer that the session is about to get."""


def alias(method: str, number: int) -> str:
    """Return the name under which a request goes through the SDK, which then does not judge its result."""
    return f"{_ALIAS}{number}:{method}"


@dataclass(frozen=True)
class Incoming:
    """What becomes of a message from the server: passed on, answered, both or neither.

    `doubtful` is an error that is perhaps the answer to the request it names: it counts only if nothing
    better comes soon.
    """

    forward: Message | None = None
    reply: Message | None = None
    doubtful: UnreadableAnswer | None = None


class MessageFilter:
    """The filter of one session."""

    def __init__(
        self,
        *,
        roots: tuple[str, ...] | None = None,
        elicitation: str = "decline",
        hooks: Hooks | None = None,
    ) -> None:
        self._roots = roots
        self._elicitation = elicitation
        self._hooks = hooks or Hooks()
        self._pending = Correlator()
        self.has_told_roots = False
        """Whether the server has asked for the roots."""

    def mute(self) -> None:
        """Call no hook any more: the session is over, and whoever listened can go."""
        self._hooks = Hooks()

    def capabilities(self) -> Message:
        """Return what the client announces in `initialize`: only what it really does."""
        announced: Message = {}
        if self._roots is not None:
            announced["roots"] = {}
        if self._elicitation == "defaults":
            announced["elicitation"] = {}
        return announced

    def outgoing(self, message: Message) -> Message | None:
        """Return what to send for a message of the session, None to send nothing."""
        method = message.get("method", "")
        if method == "notifications/cancelled":
            # The SDK 2.x sends its own; exactly one may leave, and never for `initialize`.
            pending = self._pending.get(message.get("params", {}).get("requestId"))
            if pending is None or pending.cancelled or pending.method == "initialize":
                return None
            pending.cancelled = True
        if method.startswith(_ALIAS):
            number, _, method = method.removeprefix(_ALIAS).partition(":")
            message = {**message, "method": method}
            # The SDK 2.x adds tracing context that strict servers mind: only our token stays.
            params = message.get("params") or {}
            meta = params.get("_meta") or {}
            token = meta.get("progressToken")
            params = {key: value for key, value in params.items() if key != "_meta"}
            if token is not None:
                params["_meta"] = {"progressToken": token}
            message = {key: value for key, value in message.items() if key != "params"}
            if params:
                message["params"] = params
            self._pending.add(message["id"], Pending(int(number), method, token))
        return message

    def sent(self, message: Message) -> None:
        """Note that a message has left: from now on the server may have acted on it."""
        self._pending.mark_sent(message)

    def not_sent(self, message: Message) -> None:
        """Take `sent` back: the connection was gone already."""
        if (pending := self._pending.get(message.get("id"))) is not None:
            pending.sent = False

    def forget(self, method: str) -> None:
        """Wait no longer for answers to such requests: a late one is dropped, and none is cancelled."""
        self._pending.forget(method)

    def may_have_run(self, token: object) -> bool:
        """Tell whether the call with that progress token can have reached the server."""
        waiting = self._pending.with_token(token)
        return waiting is None or waiting[1].sent

    def cancelled(self, token: object, reason: str) -> Message | None:
        """Return the notification that cancels the call with that progress token, at most once."""
        request_id, pending = self._pending.with_token(token) or (0, None)
        if pending is None or not pending.sent or pending.cancelled:
            return None
        pending.cancelled = True
        params = {"requestId": request_id, "reason": reason}
        farewell = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        self._pending.mark_sent(farewell)
        return farewell

    def incoming(self, message: Message) -> Incoming:
        """Return what to do with a message from the server."""
        method = message.get("method")
        if not isinstance(method, str):
            return self._nameless(message) if is_nameless(message.get("id")) else Incoming(self._answer(message))
        if message.get("id") is not None:
            return Incoming(reply=self._reply(method, message))
        self._notice(method, message.get("params"))
        return Incoming()

    def broken(self, broken: UnreadableAnswer) -> Message | None:
        """Return an error for the request whose answer could not be read, None if it has another by now."""
        request_id = request_number(broken.id)
        pending = None if request_id is None else self._pending.take_out(request_id)
        if request_id is None or pending is None:
            return None
        text = f"the server's answer cannot be used: {broken.reason}"
        return self._answered(request_id, pending, {"error": {"code": PARSE_ERROR, "message": text}})

    def _nameless(self, message: Message) -> Incoming:
        """Return what to do with an answer that names no request: it can only mean the one who waits, if it is one."""
        if is_error(message):
            error = error_object(message.get("error"))
            request_id = self._pending.meant_by_error(error["code"])
            if request_id is not None:
                return Incoming(doubtful=UnreadableAnswer(request_id, error["message"]))
        else:
            request_id = self._pending.meant_by_result(message["result"])
            pending = None if request_id is None else self._pending.take_out(request_id)
            if request_id is not None and pending is not None:
                return Incoming(self._answered(request_id, pending, message))
        logger.debug("dropped an answer that names no request: id %r", message.get("id"))
        return Incoming()

    def _answer(self, message: Message) -> Message | None:
        """Return a response in the form that the SDK understands; None if nobody waits for it."""
        asked = self._pending.take(message.get("id"), is_error=is_error(message))
        if asked is None:
            logger.debug("dropped an answer that nobody waits for: id %r", message.get("id"))
            return None
        return self._answered(*asked, message)

    def _answered(self, request_id: int, pending: Pending, message: Message) -> Message:
        """Hand an answer to whoever wants to know, and return it as the SDK understands it."""
        answer: Message = {"jsonrpc": "2.0", "id": request_id}
        if is_error(message):
            answer["error"] = error_object(message.get("error"))
        else:
            answer["result"] = result_object(message["result"], pending.method)
        self._hooks.on_answer(pending.number, answer)
        return answer

    def _reply(self, method: str, message: Message) -> Message:
        """Answer a request of the server at once: it may do nothing else until then."""
        name = message["id"]
        answer: Message = {"jsonrpc": "2.0", "id": name if isinstance(name, (int, str)) else json_text.plain(name)}
        if method == "ping":
            return {**answer, "result": {}}
        if method == "roots/list" and self._roots is not None:
            self.has_told_roots = True
            return {**answer, "result": {"roots": [{"uri": uri} for uri in self._roots]}}
        if method == "elicitation/create" and self._elicitation == "defaults":
            return {**answer, "result": _accept_defaults(message.get("params"))}
        reason = f"this client does not support {_shown(method, _METHOD_CHARS)}"
        return {**answer, "error": {"code": METHOD_NOT_FOUND, "message": reason}}

    def _notice(self, method: str, params: object) -> None:
        params = params if isinstance(params, Mapping) else {}
        if method == "notifications/progress":
            words = [_shown(params[key], _LOG_CHARS) for key in _PROGRESS if params.get(key) is not None]
            self._hooks.on_progress(request_number(params.get("progressToken")), _shown(" / ".join(words), _LOG_CHARS))
        elif method == "notifications/tools/list_changed":
            self._hooks.on_list_changed()
        elif method == "notifications/message":
            level = _LOG_LEVELS.get(str(params.get("level")), 40)
            self._hooks.on_log(level, _shown(params.get("data"), _LOG_CHARS))
        else:
            logger.debug("ignored notification %s", _shown(method, _METHOD_CHARS))


def _shown(value: object, limit: int) -> str:
    """Return at most `limit` characters of something that a server says: no more is cleaned than can be shown."""
    return truncate(clean_label(str(value)[: limit * _UNCLEAN]), limit)
