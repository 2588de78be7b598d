"""A chat with any OpenAI-compatible model: what providers send, and what they must get."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge import Bridge, load_config
from mcp_bridge.hosts.openai import MAX_ROUNDS, StreamedMessage, ToolCall, answer_calls, collect, converse, tool_options
from tests.support.entries import Write, odd

pytestmark = pytest.mark.usefixtures("no_children_left")


def part(index: int | None = 0, **function: Any) -> dict[str, Any]:
    call_id = function.pop("id", None)
    return {"tool_calls": [{"index": index, "id": call_id, "function": function}]}


def test_null_pieces_of_a_stream_are_nothing() -> None:
    message = StreamedMessage()
    message.add({"content": None, **part(id="c1", name="mcp_a_echo", arguments=None)})
    message.add(part(name=None, arguments='{"text":'))
    message.add({"content": None, **part(arguments='"x"}')})
    message.add({"content": None, "tool_calls": None})
    message.add(None)
    assert message.finish() == [ToolCall("c1", "mcp_a_echo", '{"text":"x"}')]
    assert message.as_message()["content"] is None


def test_parallel_calls_are_kept_apart_by_index_and_get_ids_of_their_own() -> None:
    message = StreamedMessage()
    for index, name in ((0, "a"), (1, "b")):
        message.add(part(index, id="same", name=name, arguments=""))
    message.add(part(1, arguments="{1}"))
    message.add(part(0, arguments="{0}"))
    first, second = message.finish()
    assert (first.name, first.arguments, second.name, second.arguments) == ("a", "{0}", "b", "{1}")
    assert first.id != second.id


def test_a_message_that_comes_whole_and_one_without_indices_are_read_too() -> None:
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "t", "arguments": "{}"}} for n in range(2)]
    message = StreamedMessage()
    message.add({"content": "hm", "tool_calls": calls})
    assert [call.id for call in message.finish()] == ["c0", "c1"]
    assert message.content == "hm"


pieces = st.fixed_dictionaries(
    {},
    optional={
        "index": st.none() | st.integers(0, 2),
        "id": st.none() | st.text(max_size=3) | st.integers(),
        "function": st.none()
        | st.fixed_dictionaries(
            {}, optional={"name": st.none() | st.text(max_size=3), "arguments": st.none() | st.text(max_size=3)}
        ),
    },
)
deltas = st.fixed_dictionaries(
    {}, optional={"content": st.none() | st.text(max_size=3), "tool_calls": st.none() | st.lists(pieces, max_size=3)}
)


@given(st.lists(st.none() | deltas, max_size=8))
def test_no_stream_can_end_a_chat(stream: list[Any]) -> None:
    """Whatever a provider streams, the turn goes on, and each call can be answered exactly once."""
    message = StreamedMessage()
    for delta in stream:
        message.add(delta)
    calls = message.finish()
    assert len({call.id for call in calls}) == len(calls)
    assert all(call.id and call.name for call in calls)


async def test_without_tools_a_request_says_nothing_of_tools(write_config: Write) -> None:
    asked: list[dict[str, Any]] = []

    async def ask(request: dict[str, Any]) -> StreamedMessage:
        asked.append(request)
        return StreamedMessage("hello")

    async with Bridge(load_config(write_config(odd("s", "empty_tools")))) as bridge:
        assert tool_options(bridge.tools()) == {}
        assert await converse(bridge, ask, [{"role": "user", "content": "hi"}]) == "hello"
    assert set(asked[0]) == {"messages"}


async def test_every_call_gets_exactly_one_answer_also_when_it_failed(write_config: Write) -> None:
    calls = [
        ToolCall("1", "mcp_s_echo", '{"text": "x"}'),
        ToolCall("2", "mcp_s_nothing", "{}"),
        ToolCall("3", "mcp_s_echo", '{"text":'),
        ToolCall("4", "mcp_s_die", ""),
    ]
    async with Bridge(load_config(write_config(odd("s", "exit_mid_call")))) as bridge:
        answers = await answer_calls(bridge, calls)
    assert [one["tool_call_id"] for one in answers] == ["1", "2", "3", "4"]
    assert answers[0]["content"] == "x"
    assert "there is no tool 'mcp_s_nothing'" in answers[1]["content"]
    assert "reported an error" in answers[2]["content"]
    assert "SIGKILL" in answers[3]["content"]


async def test_a_turn_runs_the_calls_and_ends_with_the_models_words(write_config: Write) -> None:
    async def stream(request: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        if request["messages"][-1]["role"] == "user":
            yield {"choices": [{"delta": part(id="c", name="mcp_s_echo", arguments='{"text": "嗨"}')}]}
        else:
            yield {"choices": []}
            yield {"choices": [{"delta": {"content": "it said "}}]}
            yield {"choices": [{"delta": {"content": request["messages"][-1]["content"]}}]}

    async def ask(request: dict[str, Any]) -> StreamedMessage:
        return await collect(stream(request), shown.append)

    shown: list[str] = []
    messages: list[dict[str, Any]] = [{"role": "user", "content": "say it"}]
    async with Bridge(load_config(write_config(odd("s", "normal")))) as bridge:
        assert await converse(bridge, ask, messages) == "it said 嗨"
    assert shown == ["it said ", "嗨"]
    assert [one["role"] for one in messages] == ["user", "assistant", "tool", "assistant"]


async def test_a_model_that_never_stops_calling_is_stopped(write_config: Write) -> None:
    rounds = 0

    async def ask(request: dict[str, Any]) -> StreamedMessage:
        nonlocal rounds
        rounds += 1
        return StreamedMessage("enough", [ToolCall("c", "mcp_s_echo", '{"text": "x"}')])

    async with Bridge(load_config(write_config(odd("s", "normal")))) as bridge:
        assert await converse(bridge, ask, []) == "enough"
    assert rounds == MAX_ROUNDS + 1
