"""The filter between a channel's messages and the session.

What a server asks or notifies is answered or dropped here, responses are matched with the requests they are
for and put into one standard form, whatever a server made of them. Pure: messages in, messages out.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ..text import json_text
from ..text.cleaning import clean_label, truncate
from .correlation import METHOD_NOT_FOUND, PARSE_ERROR, Correlator, Request, is_nameless, request_number
from .framing import Message, UnreadableAnswer
from .responses import accept_defaults, error_object, is_error, result_object

logger = logging.getLogger(__name__)

_LOG_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "notice": logging.INFO, "warning": logging.WARNING}
_PROGRESS = ("progress", "total", "message")
_LOG_CHARS = 500
_METHOD_CHARS = 100
_UNCLEAN = 10
"""How many times as long as what is shown a text may be before it is cleaned: that costs 0.2 µs a character."""


class Listener(Protocol):
    """Hears what a server notifies. Called on the loop; must not block."""

    def on_progress(self, request_id: int | None, text: str) -> None:
        """Progress of a request; its progress token is its id."""

    def on_list_changed(self) -> None:
        """The list of tools has changed."""

    def on_log(self, level: int, text: str) -> None:
        """A log message, with a level of the module `logging`."""


@dataclass(frozen=True)
class Incoming:
    """What to do with a message from the server.

    `response` is the result or error for `request`, in standard form; `reply` is to be sent back. `doubtful`
    is an error that is perhaps the response to the request it names: it counts only if no better one comes soon.
    """

    response: Message | None = None
    request: Request | None = None
    reply: Message | None = None
    doubtful: UnreadableAnswer | None = None


class MessageFilter:
    """The filter of one session."""

    def __init__(
        self,
        requests: Correlator,
        *,
        roots: tuple[str, ...] | None = None,
        elicitation: str = "decline",
        listener: Listener | None = None,
    ) -> None:
        self._requests = requests
        self._roots = roots
        self._elicitation = elicitation
        self._listener = listener
        self.has_sent_roots = False
        """Whether the server has asked for the roots."""

    def mute(self) -> None:
        """Notify the listener no more: the session is over."""
        self._listener = None

    def capabilities(self) -> Message:
        """Return what the client announces in `initialize`: only what it really does."""
        announced: Message = {}
        if self._roots is not None:
            announced["roots"] = {}
        if self._elicitation == "defaults":
            announced["elicitation"] = {}
        return announced

    def incoming(self, message: Message) -> Incoming:
        """Return what to do with a message from the server."""
        method = message.get("method")
        if not isinstance(method, str):
            return self._nameless(message) if is_nameless(message.get("id")) else self._named(message)
        if message.get("id") is not None:
            return Incoming(reply=self._reply(method, message))
        self._notice(method, message.get("params"))
        return Incoming()

    def unreadable(self, answer: UnreadableAnswer) -> Incoming:
        """Fail the request whose response could not be read, unless it has another one by now."""
        request_id = request_number(answer.id)
        request = None if request_id is None else self._requests.take_out(request_id)
        if request is None:
            return Incoming()
        text = f"the server's answer cannot be used: {answer.reason}"
        return _response(request, {"error": {"code": PARSE_ERROR, "message": text}})

    def _nameless(self, message: Message) -> Incoming:
        """Return what to do with a response without an id: it is matched if exactly one request can be meant."""
        if is_error(message):
            error = error_object(message.get("error"))
            request_id = self._requests.meant_by_error(error["code"])
            if request_id is not None:
                return Incoming(doubtful=UnreadableAnswer(request_id, error["message"]))
        else:
            request_id = self._requests.meant_by_result(message["result"])
            request = None if request_id is None else self._requests.take_out(request_id)
            if request is not None:
                return _response(request, message)
        logger.debug("dropped a response that names no request: id %r", message.get("id"))
        return Incoming()

    def _named(self, message: Message) -> Incoming:
        """Return the request that a response names, with the response in standard form."""
        request = self._requests.take(message.get("id"), is_error=is_error(message))
        if request is None:
            logger.debug("dropped a response to no open request: id %r", message.get("id"))
            return Incoming()
        return _response(request, message)

    def _reply(self, method: str, message: Message) -> Message:
        """Respond to a request of the server at once: until then it may do nothing else."""
        name = message["id"]
        answer: Message = {"jsonrpc": "2.0", "id": name if isinstance(name, (int, str)) else json_text.plain(name)}
        if method == "ping":
            return {**answer, "result": {}}
        if method == "roots/list" and self._roots is not None:
            self.has_sent_roots = True
            return {**answer, "result": {"roots": [{"uri": uri} for uri in self._roots]}}
        if method == "elicitation/create" and self._elicitation == "defaults":
            return {**answer, "result": accept_defaults(message.get("params"))}
        reason = f"this client does not support {_shown(method, _METHOD_CHARS)}"
        return {**answer, "error": {"code": METHOD_NOT_FOUND, "message": reason}}

    def _notice(self, method: str, params: object) -> None:
        params = params if isinstance(params, Mapping) else {}
        if (listener := self._listener) is None:
            return
        if method == "notifications/progress":
            words = [_shown(params[key], _LOG_CHARS) for key in _PROGRESS if params.get(key) is not None]
            listener.on_progress(request_number(params.get("progressToken")), _shown(" / ".join(words), _LOG_CHARS))
        elif method == "notifications/tools/list_changed":
            listener.on_list_changed()
        elif method == "notifications/message":
            level = _LOG_LEVELS.get(str(params.get("level")), logging.ERROR)
            listener.on_log(level, _shown(params.get("data"), _LOG_CHARS))
        else:
            logger.debug("ignored notification %s", _shown(method, _METHOD_CHARS))


def _response(request: Request, message: Message) -> Incoming:
    """Return a response in standard form, with the request that it is for."""
    response: Message = {"jsonrpc": "2.0", "id": request.id}
    if is_error(message):
        response["error"] = error_object(message.get("error"))
    else:
        response["result"] = result_object(message["result"], request.method)
    return Incoming(response, request)


def _shown(value: object, limit: int) -> str:
    """Return at most `limit` characters of a server's value, cleaned; no more is cleaned than can be shown."""
    return truncate(clean_label(str(value)[: limit * _UNCLEAN]), limit)
