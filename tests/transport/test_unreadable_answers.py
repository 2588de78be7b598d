"""Answers that cannot be read end the call that they answer, and no other."""

from __future__ import annotations

import json
import time

import pytest

from mcp_bridge.transport.broken_messages import MOST_BYTES, answered_id
from mcp_bridge.transport.framing import LineBuffer, LineReader, Parsed, UnreadableAnswer, parse_line

ROWS = [{"id": 8}, {"a": 1, "id": 9}]
LIMIT = 2**24


def too_long(message: object) -> Parsed:
    buffer = LineBuffer(1000)
    (line,) = buffer.feed(json.dumps(message).encode() + b"\n")
    return parse_line(line)


@pytest.mark.parametrize("rows", [[], ROWS, ROWS * 200])
def test_an_answer_that_is_too_long_is_attributed_by_its_own_id_wherever_that_stands(rows: object) -> None:
    result = {"rows": rows, "text": "y" * 5000, "id": 10, "more": rows}
    for message in (
        {"jsonrpc": "2.0", "id": 7, "result": result},
        {"result": result, "jsonrpc": "2.0", "id": 7},
        {"result": result, "id": 7, "jsonrpc": "2.0"},
        {"jsonrpc": "2.0", "result": {"id": 10, **result}, "id": 7},
    ):
        broken = too_long(message).broken
        assert broken is not None
        assert broken.id == 7


def test_an_answer_whose_own_id_cannot_be_seen_is_attributed_to_no_call() -> None:
    hidden = {"result": {"rows": ROWS, "text": "y" * 5000}, "id": 7, "_meta": {"rows": [*ROWS, "z" * 5000]}}
    assert too_long(hidden).broken is None
    assert too_long({"id": 7, "method": "x", "params": {"result": "y" * 5000}}).broken is None
    cut = '{"jsonrpc":"2.0","result":{"rows":[{"a":1,"id":9}'
    assert parse_line(cut.encode()).broken is None


def test_an_answer_that_is_not_valid_json_is_attributed_by_its_own_id() -> None:
    text = json.dumps({"result": {"rows": ROWS, "bad": "BAD"}, "jsonrpc": "2.0", "id": "7"})
    broken = parse_line(text.replace('"BAD"', "undefined").encode()).broken
    assert broken == UnreadableAnswer("7", "the message is not valid JSON")


@pytest.mark.parametrize(
    ("head", "tail", "named"),
    [
        ('{"note":"\\"id\\": 5,","result":{"id":6},"id":7}', "", 7),
        ('log {"id": 3} {"jsonrpc":"2.0","id":7,"result":[', "", 7),
        ('[{"jsonrpc":"2.0","id":7,"result":[', "", 7),
        ('{"result":{"text":"never ends, "id": 5, {', "", None),
        ('{"result":{"id": 1, ', ',"id":"a\\"b"}', 'a"b'),
        ('{"result":{"id": 1, ', ',"id":5}}', None),
        ('{"id": true, "result": 1', "", None),
        ("no answer", ',"id":5}', None),
    ],
)
def test_ids_of_other_things_are_not_taken_for_that_of_the_answer(head: str, tail: str, named: object) -> None:
    assert answered_id(head, tail) == named


def test_an_answer_nested_too_deeply_among_noise_ends_its_call_and_holds_no_message() -> None:
    inner = '{"jsonrpc":"2.0","id":8,"result":{}}'
    deep = "[" * 100_000 + inner + "]" * 100_000
    text = 'noise {"jsonrpc":"2.0","id":7,"result":{"x":"\\ud800","d":' + deep + "}}"
    parsed = parse_line(text.encode())
    assert (parsed.messages, parsed.broken) == ([], UnreadableAnswer(7, "the message is nested too deeply"))
    parsed = parse_line((inner + text).encode())
    assert [message["id"] for message in parsed.messages] == [8]
    assert parsed.broken == UnreadableAnswer(7, "the message is nested too deeply")


def test_half_a_character_in_a_deep_answer_among_noise_does_not_stop_the_reader() -> None:
    deep = "[" * 600 + "]" * 600
    parsed = parse_line(('noise {"jsonrpc":"2.0","id":7,"result":{"x":"\\ud800","d":' + deep + "}}").encode())
    assert parsed.messages or (parsed.broken is not None and parsed.broken.id == 7)


def pretty(numbers: int, number: int = 7) -> list[bytes]:
    message = {"jsonrpc": "2.0", "id": number, "result": {"numbers": list(range(numbers)), "text": '{[\\"'}}
    return json.dumps(message, indent=2).encode().split(b"\n")


def test_an_answer_on_thousands_of_lines_is_read_once_and_not_once_for_each() -> None:
    reader = LineReader(LIMIT)
    begun = time.perf_counter()
    found = [message for line in pretty(5_000) for message in reader.parse(line).messages]
    assert [message["id"] for message in found] == [7]
    assert time.perf_counter() - begun < 3  # 0.1 s; 15 s if all lines are read again for each


def test_an_answer_on_too_many_lines_ends_its_call_and_the_next_one_is_read() -> None:
    reader = LineReader(LIMIT)
    lines = pretty(MOST_BYTES // 8)
    parsed = [reader.parse(line) for line in (*lines, *pretty(3, 8))]
    assert [one.broken.id for one in parsed if one.broken is not None] == [7]
    assert [message["id"] for one in parsed for message in one.messages] == [8]


def test_an_answer_that_is_never_completed_ends_its_call_when_something_else_follows() -> None:
    for after in (b"Traceback: it broke", pretty(3, 8)[0], b'{"jsonrpc":"2.0","id":8,"result":{}}'):
        reader = LineReader(LIMIT)
        for line in pretty(3)[:6]:
            assert reader.parse(line) == Parsed()
        parsed = reader.parse(after)
        if after != b"{":  # that may go on
            assert parsed.broken == UnreadableAnswer(7, "the message is not valid JSON")
            assert [message["id"] for message in parsed.messages] == ([8] if b"8" in after else [])


def test_words_after_a_bracket_that_stays_open_are_heard() -> None:
    reader = LineReader(LIMIT)
    assert reader.parse(b"{").noise == ""
    assert reader.parse(b"Error: cannot find module").noise == "Error: cannot find module"
    assert [message["id"] for line in pretty(3) for message in reader.parse(line).messages] == [7]
