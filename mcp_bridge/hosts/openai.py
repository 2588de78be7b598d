"""Tools for any model behind an OpenAI-compatible API; needs no client package.

`function_definitions` declares the tools, `StreamedMessage` assembles the model's answer, `answer_calls`
runs its calls concurrently, and `converse` runs a whole turn.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..calls import ToolCaller
from ..errors import BridgeError
from ..tools.failure_text import failure_text, result_text
from ..tools.tool import Tool

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
MAX_ROUNDS = 10
"""Rounds of tool calls in one turn; then the model has to answer without tools."""


class Tools(ToolCaller, Protocol):
    """The methods of a bridge that a conversation uses: `Bridge` and `BridgeThread` have them."""

    def tools(self, chat: str | None = None, user: str | None = None) -> list[Tool]: ...


def function_definitions(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """Return the tools in the form that a chat completion request takes."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
        }
        for tool in tools
    ]


def tool_options(tools: Iterable[Tool]) -> dict[str, Any]:
    """Return the keys of a request that offer tools; none without tools, since APIs refuse an empty list."""
    definitions = function_definitions(tools)
    return {"tools": definitions} if definitions else {}


@dataclass
class ToolCall:
    """A call requested by a model; `arguments` is JSON text as the model wrote it."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether the arguments are a whole JSON object."""
        try:
            return isinstance(json.loads(self.arguments), dict)
        except (ValueError, RecursionError):
            return False

    def extend(self, piece: _Piece) -> None:
        """Append a piece. Providers repeat the name in each piece, and the whole arguments at the end."""
        if not self.id and isinstance(piece.id, str):
            self.id = piece.id
        if piece.name != self.name:
            self.name += piece.name
        if not (piece.arguments == self.arguments and self.is_complete):
            self.arguments += piece.arguments


@dataclass
class StreamedMessage:
    """An assistant's message, assembled from the deltas of a stream or from one whole message.

    Providers send null for missing fields, leave out ids and indices, give all calls the same one, and
    repeat names. So calls are told apart by index, else by id, else by where one is complete.
    """

    content: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    _by_index: dict[int, ToolCall] = field(default_factory=dict, repr=False)

    def add(self, delta: Any) -> str:
        """Add a delta or a whole message (dict or object); return the text that it adds."""
        text = _get(delta, "content")
        if isinstance(text, list):  # some APIs send the content as a list of parts
            text = "".join(part for one in text if isinstance(part := _get(one, "text"), str))
        text = text if isinstance(text, str) else ""
        self.content += text
        for part in _get(delta, "tool_calls") or ():
            self._add_call(part)
        if (function := _get(delta, "function_call")) is not None:  # the form before 2024, still in use
            self._add_call({"index": 0, "function": function})
        return text

    def finish(self) -> list[ToolCall]:
        """Drop calls without a name, give each of the others a unique id, and return them."""
        self.calls = [call for call in self.calls if call.name]
        seen: set[str] = set()
        for number, call in enumerate(self.calls):
            while not call.id or call.id in seen:
                call.id = f"{call.id or 'call'}_{number}"
            seen.add(call.id)
        return self.calls

    def as_message(self) -> dict[str, Any]:
        """Return the message in the form that must precede the answers to its calls.

        Invalid names and arguments are replaced: with them in the history, the API would refuse every further
        request of the chat.
        """
        message: dict[str, Any] = {"role": "assistant", "content": self.content or None}
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {
                        "name": _ILLEGAL.sub("_", call.name)[:64],
                        "arguments": call.arguments if call.is_complete else "{}",
                    },
                }
                for call in self.calls
            ]
        return message

    def _add_call(self, delta: Any) -> None:
        piece = _Piece.read(delta)
        call = self._find(piece)
        if call is None or _begins_another(call, piece):
            call = ToolCall()
            self.calls.append(call)
        if piece.index is not None:
            self._by_index[piece.index] = call
        call.extend(piece)

    def _find(self, piece: _Piece) -> ToolCall | None:
        """Return the call that a piece seems to continue: by its index, else its id, else the latest call."""
        if piece.index is not None:
            return self._by_index.get(piece.index)
        if piece.id:
            return next((call for call in self.calls if call.id == piece.id), None)
        return self.calls[-1] if self.calls else None


@dataclass(frozen=True)
class _Piece:
    """One element of `tool_calls` in a delta; "" for what is missing or not text."""

    index: int | None
    id: object
    name: str
    arguments: str

    @classmethod
    def read(cls, delta: Any) -> _Piece:
        index, function = _get(delta, "index"), _get(delta, "function")
        name, arguments = _get(function, "name"), _get(function, "arguments")
        if isinstance(arguments, Mapping):
            arguments = json.dumps(arguments, ensure_ascii=False)
        return cls(
            index if isinstance(index, int) else None,
            _get(delta, "id"),
            name if isinstance(name, str) else "",
            arguments if isinstance(arguments, str) else "",
        )


def _begins_another(call: ToolCall, piece: _Piece) -> bool:
    """Return whether a piece begins a new call although it seems to continue `call`.

    Some providers give all calls of a message the same index or id, or none.
    """
    if not call.name or not piece.name:
        return False
    if call.id and piece.id and call.id != piece.id:
        return piece.name != call.name or call.is_complete
    if not call.is_complete:
        return False
    if call.id and piece.id:
        return piece.name != call.name
    return piece.name != call.name or piece.arguments not in ("", call.arguments)


@dataclass(frozen=True)
class Answer:
    """The answer to a call: the text for the model, whether the call failed, and how long it took."""

    call: ToolCall
    text: str
    is_error: bool
    seconds: float


def _ignore(answer: Answer) -> None:
    """The default of `on_answer`: do nothing."""


async def answer_calls(
    bridge: Tools,
    calls: Sequence[ToolCall],
    *,
    chat: str | None = None,
    user: str | None = None,
    on_answer: Callable[[Answer], None] = _ignore,
) -> list[dict[str, Any]]:
    """Run the calls concurrently; return one `tool` message for each, also for those that fail.

    `on_answer` is called with each answer when it arrives.
    """
    tools = {tool.name: tool for tool in bridge.tools(chat, user)}

    async def answer(call: ToolCall) -> dict[str, Any]:
        tool = tools.get(call.name)
        started = time.monotonic()
        try:
            result = await bridge.call(call.name, call.arguments, chat=chat, user=user)
            text = result_text(result, tool.server, tool.remote_name) if tool else result.text
            failed = result.is_error
        except BridgeError as error:
            text = failure_text(error, tool.server, tool.remote_name) if tool else failure_text(error, error.server)
            failed = True
        on_answer(Answer(call, text, failed, time.monotonic() - started))
        return {"role": "tool", "tool_call_id": call.id, "content": text}

    return list(await asyncio.gather(*(answer(call) for call in calls)))


async def converse(
    bridge: Tools,
    ask: Callable[[dict[str, Any]], Awaitable[StreamedMessage]],
    messages: list[dict[str, Any]],
    *,
    chat: str | None = None,
    user: str | None = None,
    on_answer: Callable[[Answer], None] = _ignore,
) -> str:
    """Run one turn: let the model call tools until it answers; return its text.

    `ask` sends `{"messages": ..., "tools": ...}` to the model. The new messages are appended to `messages`;
    `on_answer` is called with each answer of a tool. After `MAX_ROUNDS` rounds of calls no tools are offered.
    """
    for round_number in range(MAX_ROUNDS + 1):
        offered = tool_options(bridge.tools(chat, user)) if round_number < MAX_ROUNDS else {}
        message = await ask({"messages": messages, **offered})
        calls = message.finish() if offered else []
        if not calls:
            messages.append({"role": "assistant", "content": message.content})
            return message.content
        messages.append(message.as_message())
        messages += await answer_calls(bridge, calls, chat=chat, user=user, on_answer=on_answer)
    raise AssertionError("unreachable: the last round offers no tools")


async def collect(stream: AsyncIterator[Any], show: Callable[[str], None] = lambda text: None) -> StreamedMessage:
    """Assemble a streamed completion, calling `show` with each piece of text."""
    message = StreamedMessage()
    async for chunk in stream:
        for choice in _get(chunk, "choices") or ():
            if (text := message.add(_get(choice, "delta"))) != "":
                show(text)
    return message


def _get(value: Any, name: str) -> Any:
    """Return a field of a dict or of an object of the `openai` package; None if it is missing."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)
