"""Calls in a stream of a model, as providers number, repeat and break them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_bridge.hosts.openai import StreamedMessage


def part(name: str | None = None, arguments: Any = None, **keys: Any) -> dict[str, Any]:
    return {**keys, "function": {"name": name, "arguments": arguments}}


def heard(*deltas: list[dict[str, Any]]) -> list[tuple[str, str]]:
    message = StreamedMessage()
    for calls in deltas:
        message.add({"tool_calls": calls})
    return [(call.name, call.arguments) for call in message.finish()]


TWO = [("f", '{"x":1}'), ("g", '{"y":2}')]


@pytest.mark.parametrize(
    "deltas",
    [
        ([part("f", '{"x":1}'), part("g", '{"y":2}')],),
        ([part("f", '{"x":1}')], [part("g", '{"y":2}')]),
        ([part("f", '{"x":1}', index=0, id="A")], [part("g", '{"y":2}', index=0, id="B")]),
        ([part("f", '{"x":1}', id="c")], [part("g", '{"y":2}', id="c")]),
        ([part("f", '{"x":', index=0)], [part(None, "1}", index=0)], [part("g", '{"y":2}', index=0)]),
        ([part("f", '{"x":1}', index=0, id="A"), part("g", '{"y":2}', index=1, id="B")],),
    ],
    ids=[
        "no ids at once",
        "no ids one by one",
        "all of index 0",
        "all of one id",
        "pieces without ids",
        "as it should",
    ],
)
def test_two_calls_stay_two_however_they_are_numbered(deltas: tuple[list[dict[str, Any]], ...]) -> None:
    """Two calls that melt into one are one of a tool that does not exist."""
    assert heard(*deltas) == TWO


@pytest.mark.parametrize(
    "deltas",
    [
        ([part("f", '{"x"', index=0, id="A")], [part("f", ":1}", index=0, id="A")]),
        ([part("f", '{"x":1}', index=0, id="A")], [part("f", "", index=0, id="A")]),
        ([part("f", '{"x":1}', index=0, id="A")], [part("f", '{"x":1}', index=0, id="A")]),  # said once more at the end
        ([part("f", "", index=0, id="A")], [part(None, '{"x"', index=0, id="B")], [part(None, ":1}", index=0, id="C")]),
        ([part("f", {"x": 1}, id="A")],),
    ],
    ids=["name repeated", "an empty end", "whole at the end", "a new id each time", "an object"],
)
def test_one_call_stays_one_however_it_comes(deltas: tuple[list[dict[str, Any]], ...]) -> None:
    ((name, arguments),) = heard(*deltas)
    assert (name, json.loads(arguments)) == ("f", {"x": 1})


def test_the_same_call_twice_is_two_calls_where_ids_say_so() -> None:
    calls = heard([part("f", "{}", index=0, id="A")], [part("f", "{}", index=0, id="B")])
    assert calls == [("f", "{}"), ("f", "{}")]


@pytest.mark.parametrize("arguments", ['{"x": "ab', "  ", "null", '"{}"', "[1]", ""])
def test_a_broken_call_does_not_spoil_the_rest_of_the_chat(arguments: str) -> None:
    """APIs refuse a history with it, so every further message of that chat would fail."""
    message = StreamedMessage()
    message.add({"tool_calls": [part("functions.f:0", arguments, id="A")]})
    (call,) = message.finish()
    assert call.arguments == arguments  # what the model is told is wrong is what it wrote
    (sent,) = message.as_message()["tool_calls"]
    assert sent["function"] == {"name": "functions_f_0", "arguments": "{}"}


def test_content_in_parts_and_the_older_form_of_a_call_are_heard() -> None:
    message = StreamedMessage()
    assert message.add({"content": [{"type": "text", "text": "Wait"}, {"type": "thinking"}]}) == "Wait"
    message.add({"function_call": {"name": "f", "arguments": '{"x"'}})
    message.add({"function_call": {"arguments": ":1}"}})
    assert [(call.name, call.arguments) for call in message.finish()] == [("f", '{"x":1}')]
