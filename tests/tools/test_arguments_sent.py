"""What models sent as arguments, and what the server is to receive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge import Bridge, create_mcp_tool_class, load_config
from tests.support.entries import Write, odd
from tests.support.server_log import ServerLog

pytestmark = pytest.mark.usefixtures("no_children_left")
SHARED = 'session = "shared"\n'


async def received(bridge: Bridge, sent: dict[str, Any]) -> Any:
    """Call the strict tool and return what it accepted."""
    result = await bridge.call("mcp_s_strict", sent)
    assert result.text.startswith("ok:"), result.text
    assert not result.is_error
    return json.loads(result.text.removeprefix("ok:"))


async def test_numbers_and_booleans_sent_as_strings_arrive_as_what_they_are(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "strict_args", more=SHARED)))) as bridge:
        got = await received(bridge, {"count": "5", "ratio": "0.5", "flag": "true"})
        assert json.dumps(got) == '{"count": 5, "ratio": 0.5, "flag": true}'
        texts = {"count": 1, "zip": "01234", "note": "5"}
        assert await received(bridge, texts) == texts
        for wrong in ("abc", "1.5", "", "1e400", "nan"):
            refused = await bridge.call("mcp_s_strict", {"count": wrong})
            assert refused.is_error
            assert f"arguments.count: {json.dumps(wrong)} is not of type integer" in refused.text


async def test_null_for_an_optional_parameter_is_left_out_where_it_is_refused(
    write_config: Write, tmp_path: Path
) -> None:
    log = ServerLog(tmp_path / "log")
    entry = odd("s", "strict_args", f"log={log.path}", more=SHARED)
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert await received(bridge, {"count": 1, "note": None, "level": None}) == {"count": 1, "level": None}
        refused = await bridge.call("mcp_s_strict", {"count": None, "either": None})
        assert refused.is_error
        assert "arguments.count: null is not of type integer" in refused.text
    assert log.calls("strict")[-1]["params"]["arguments"] == {"count": None, "either": None}


async def test_nothing_at_all_calls_a_tool_without_parameters(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    entry = odd("s", "strict_args", f"log={log.path}", more=SHARED)
    async with Bridge(load_config(write_config(entry))) as bridge:
        results = [await bridge.call("mcp_s_noargs", sent) for sent in ("", None, "null", "{}")]
        results.append(await bridge.call("mcp_s_noargs"))
        assert [result.text for result in results] == ["ok:{}"] * 5
        broken = await bridge.call("mcp_s_noargs", '{"a":')
        assert broken.is_error
        assert broken.text == ("the arguments are not valid JSON: Expecting value at character 6, near '{\"a\":'")
        array = await bridge.call("mcp_s_noargs", "[1, 2]")
        assert array.is_error
        assert array.text == "the arguments must be a JSON object, not array: '[1, 2]'"
        assert (await bridge.call("mcp_s_noargs", {})).text == "ok:{}"
    assert len(log.calls("noargs")) == 6  # what was broken never reached the server


@pytest.mark.parametrize(
    ("sent", "got"),
    [
        ({"count": 1, "where": '{"x": "7"}'}, {"count": 1, "where": {"x": 7}}),
        ({"count": 1, "tags": '["a", "b"]'}, {"count": 1, "tags": ["a", "b"]}),
        ({"count": 1, "tags": "a"}, {"count": 1, "tags": ["a"]}),
        ({"count": 1, "color": "Red "}, {"count": 1, "color": "red"}),
        ({"count": 3.0, "either": "7"}, {"count": 3, "either": 7}),
        ({"count": "9007199254740993"}, {"count": 9007199254740993}),
        ({"count": " 5 ", "flag": "False", "zip": 1234}, {"count": 5, "flag": False, "zip": "1234"}),
    ],
)
async def test_other_habits_of_models_are_understood_too(
    write_config: Write, sent: dict[str, Any], got: dict[str, Any]
) -> None:
    async with Bridge(load_config(write_config(odd("s", "strict_args")))) as bridge:
        assert json.dumps(await received(bridge, sent)) == json.dumps(got)


@pytest.mark.parametrize(
    "sent",
    [
        '{"count": "5"}',
        '"{\\"count\\": 5}"',
        '```json\n{"count": 5}\n```',
        '\ufeff {"count": 5}\n',
    ],
)
async def test_arguments_in_other_wrappings_are_unwrapped(write_config: Write, sent: str) -> None:
    async with Bridge(load_config(write_config(odd("s", "strict_args")))) as bridge:
        assert (await bridge.call("mcp_s_strict", sent)).text == 'ok:{"count": 5}'


async def test_what_cannot_be_repaired_shows_the_model_the_servers_own_words(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "strict_args", more=SHARED)))) as bridge:
        tool = next(tool for tool in bridge.tools() if tool.remote_name == "strict")
        sent = {"count": 1, "colour": "red", "where": {}, "color": "blue"}
        answer = await create_mcp_tool_class(tool, bridge)().execute(sent)
    for words in ("colour is unknown", "arguments.where: x is missing", '"blue" is not one of', "'s'"):
        assert words in answer["content"]


async def test_parameters_named_like_words_of_python_arrive_under_their_own_names(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "reserved_params", more=SHARED)))) as bridge:
        tool = next(tool for tool in bridge.tools() if tool.remote_name == "param_names")
        made = create_mcp_tool_class(tool, bridge)
        sent = {name: f"value of {number}" for number, name in enumerate(made.input_schema["properties"])}
        got = json.loads((await made().execute(sent))["content"])
    assert list(got.values()) == list(sent.values())
    for name in ("self", "class", "user.id", "arguments", "城市", "$ref", "with space", "p" * 80, "a.b", "a_b"):
        assert name in got


async def test_values_arrive_exactly_as_they_were_sent(write_config: Write) -> None:
    sent = {"text": 'quote " \\ \n 汉字 😀 \u2028 \x00', "n": 2**53 + 1, "more": [None, True, {"a": [1.5, -0.0]}]}
    async with Bridge(load_config(write_config(odd("s", "echo_args", more=SHARED)))) as bridge:
        got = json.loads((await bridge.call("mcp_s_args", sent)).text)
    assert json.dumps(got["arguments"]) == json.dumps(sent)
    assert set(got) == {"name", "arguments", "_meta"}


@pytest.mark.parametrize("sent", ['{"count": NaN}', '{"count": 1e400}', "[" * 100_000, '{"count": 1}}', "count=1", "5"])
async def test_json_that_is_none_is_quoted_and_ends_nothing(write_config: Write, sent: str) -> None:
    async with Bridge(load_config(write_config(odd("s", "strict_args")))) as bridge:
        broken = await bridge.call("mcp_s_strict", sent)
        assert broken.is_error
        assert broken.text.startswith("the arguments ")
        assert (await bridge.call("mcp_s_strict", {"count": 1})).text == 'ok:{"count": 1}'
