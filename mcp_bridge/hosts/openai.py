"""Tools for any model behind an OpenAI-compatible API, without a package of its own.

`function_definitions` says what the model may call, `StreamedMessage` puts together what
it answers, `answer_calls` runs its calls side by side, and `converse` is the whole turn.
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
"""How often in one turn the model may ask for tools before it must answer."""


class Tools(ToolCaller, Protocol):
    """Lists tools and calls them, as `Bridge` and `BridgeThread` do."""

    def tools(self, chat: str | None = None, user: str | None = None) -> list[Tool]: ...


def function_definitions(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """Return the tools in the form of `tools` in a chat completion request."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
        }
        for tool in tools
    ]


def tool_options(tools: Iterable[Tool]) -> dict[str, Any]:
    """Return the part of a request that offers tools; empty without any, since APIs refuse an empty list."""
    definitions = function_definitions(tools)
    return {"tools": definitions} if definitions else {}


@dataclass
class ToolCall:
    """A call that a model asks for; `arguments` is JSON text as the model wrote it."""

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


@dataclass
class StreamedMessage:
    """An assistant's message, put together from the deltas of a stream or taken whole.

    Providers send null for what a delta does not hold, leave out ids and indices, give all calls the same,
    and repeat names; calls are kept apart by index, else by a new id, else by where one is complete.
    """

    content: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    _by_index: dict[int, ToolCall] = field(default_factory=dict, repr=False)

    def add(self, delta: Any) -> str:
        """Take in a delta or a whole message (dict or object); return the text that it adds."""
        text = _get(delta, "content")
        if isinstance(text, list):  # parts, as some APIs have them in both directions
            text = "".join(part for one in text if isinstance(part := _get(one, "text"), str))
        text = text if isinstance(text, str) else ""
        self.content += text
        for part in _get(delta, "tool_calls") or ():
            self._add_call(part)
        if (function := _get(delta, "function_call")) is not None:  # of before 2024, and of who copied it
            self._add_call({"index": 0, "function": function})
        return text

    def finish(self) -> list[ToolCall]:
        """Return the calls that name a tool, each under an id of its own."""
        self.calls = [call for call in self.calls if call.name]
        seen: set[str] = set()
        for number, call in enumerate(self.calls):
            while not call.id or call.id in seen:
                call.id = f"{call.id or 'call'}_{number}"
            seen.add(call.id)
        return self.calls

    def as_message(self) -> dict[str, Any]:
        """Return the message as it must stand before the answers to its calls.

        A call that no API would take back is put into a form that it does: else each further request fails.
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

    def _add_call(self, part: Any) -> None:
        index, call_id = _get(part, "index"), _get(part, "id")
        function = _get(part, "function")
        name, arguments = _get(function, "name"), _get(function, "arguments")
        if isinstance(arguments, Mapping):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if isinstance(index, int):
            call = self._by_index.get(index)
            if call is None or _is_another(call, call_id, name, arguments):
                call = self._by_index[index] = ToolCall()
                self.calls.append(call)
        elif call_id or not self.calls:
            call = next((one for one in self.calls if call_id and one.id == call_id), None) or ToolCall()
            if _is_another(call, call_id, name, arguments):
                call = ToolCall()
            if not any(call is one for one in self.calls):
                self.calls.append(call)
        elif _is_another(self.calls[-1], call_id, name, arguments):
            call = ToolCall()
            self.calls.append(call)
        else:
            call = self.calls[-1]
        call.id = call.id or (call_id if isinstance(call_id, str) else "")
        if isinstance(name, str) and name != call.name:
            call.name += name
        if isinstance(arguments, str) and not (arguments == call.arguments and call.is_complete):
            call.arguments += arguments


def _is_another(call: ToolCall, call_id: Any, name: Any, arguments: Any) -> bool:
    """Tell whether a part begins a new call although its place is taken: providers number all calls 0, or none."""
    if not (call.name and isinstance(name, str) and name):
        return False
    if call_id and call.id and call_id != call.id:
        return name != call.name or call.is_complete
    if not call.is_complete:
        return False
    return name != call.name or (not (call_id and call.id) and bool(arguments) and arguments != call.arguments)


@dataclass(frozen=True)
class Answer:
    """What a call gave: the text for the model, whether it failed, and how long it took."""

    call: ToolCall
    text: str
    is_error: bool
    seconds: float


def _unseen(answer: Answer) -> None:
    """Take an answer that nobody watches for."""


async def answer_calls(
    bridge: Tools,
    calls: Sequence[ToolCall],
    *,
    chat: str | None = None,
    user: str | None = None,
    on_answer: Callable[[Answer], None] = _unseen,
) -> list[dict[str, Any]]:
    """Run the calls side by side; return one `tool` message for each, also for those that fail.

    `on_answer` is told of each as it comes.
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
    on_answer: Callable[[Answer], None] = _unseen,
) -> str:
    """Let the model answer, with as many tool calls as it needs; return its text.

    `ask` sends `{"messages": ..., "tools": ...}` to the model. The new messages are added
    to `messages`; `on_answer` is told of each call's answer. After `MAX_ROUNDS`
    rounds of calls no tools are offered any more.
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
    """Put a streamed completion together, calling `show` with each piece of text."""
    message = StreamedMessage()
    async for chunk in stream:
        for choice in _get(chunk, "choices") or ():
            if (text := message.add(_get(choice, "delta"))) != "":
                show(text)
    return message


def _get(value: Any, name: str) -> Any:
    """Read a field of a dict, of an object of the `openai` package, or of nothing."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)
