"""Lines of stdio servers: nothing a server prints costs more than itself."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_bridge.transport.framing import (
    EDGE_BYTES,
    LineBuffer,
    LineReader,
    TooLong,
    UnreadableAnswer,
    encode,
    parse_line,
)

ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {"text": "汉字\u2028\u0085"}}
LINE = json.dumps(ANSWER, ensure_ascii=False).encode()


@given(st.lists(st.binary(max_size=40)), st.integers(1, 7))
def test_lines_arrive_whole_however_they_are_cut(lines: list[bytes], size: int) -> None:
    """A server that writes in small pieces loses nothing, and only LF ends a line."""
    lines = [line.replace(b"\n", b"") for line in lines]
    data = b"".join(line + b"\n" for line in lines)
    buffer = LineBuffer(1000)
    found = [line for start in range(0, len(data), size) for line in buffer.feed(data[start : start + size])]
    assert found == lines
    assert buffer.rest() is None


@given(st.binary(max_size=3000))
def test_no_line_can_stop_the_reader(line: bytes) -> None:
    """Whatever comes out of a server, the next message is still read."""
    parsed = parse_line(line)
    assert all(isinstance(message, dict) for message in parsed.messages)
    assert parse_line(LINE).messages == [ANSWER]


@given(st.integers(1, 200), st.integers(0, 5000))
def test_memory_for_one_line_is_bounded(limit: int, size: int) -> None:
    """A server that never ends its line cannot fill the memory of a small machine."""
    buffer = LineBuffer(limit)
    for _ in range(5):
        assert buffer.feed(b"x" * size) == []
    assert sum(map(len, buffer._chunks)) <= limit
    (line,) = buffer.feed(b"\n")
    assert isinstance(line, TooLong) == (5 * size > limit)


@given(st.lists(st.binary(max_size=3000).map(lambda piece: piece.replace(b"\n", b"")), max_size=8))
@example([b"x" + 60 * b"y", 50 * b"y", b"yz"])
def test_of_a_line_that_is_too_long_both_ends_are_kept(pieces: list[bytes]) -> None:
    buffer = LineBuffer(100)
    for piece in pieces:
        assert buffer.feed(piece) == []
    whole = b"".join(pieces)
    (line,) = buffer.feed(b"\n")
    if len(whole) > 100:
        assert isinstance(line, TooLong)
        assert line.size == len(whole)
        assert line.edges.startswith(whole[:EDGE_BYTES])
        assert line.edges.endswith(whole[-EDGE_BYTES:])
        assert len(line.edges) <= 2 * EDGE_BYTES
    else:
        assert line == whole


def test_an_answer_that_is_too_long_fails_only_the_call_it_answers() -> None:
    for text in (
        b'{"jsonrpc":"2.0","id":7,"result":{"x":"%s"}}',
        b'{"result":{"x":"%s"},"id":7,"jsonrpc":"2.0"}',
    ):
        buffer = LineBuffer(5000)
        lines = [line for piece in (text % (b"y" * 20000), b"\n", LINE, b"\n") for line in buffer.feed(piece)]
        assert parse_line(lines[0]).broken == UnreadableAnswer(
            7, f"the message is too long ({len(text) - 2 + 20000} bytes)"
        )
        assert parse_line(lines[1]).messages == [ANSWER]


@pytest.mark.parametrize("noise", [b"", b"  ", b"\xef\xbb\xbf", b"\r", b"log: ", b"[INFO] {x} "])
def test_a_message_is_found_among_noise_on_its_line(noise: bytes) -> None:
    assert parse_line(noise + LINE).messages == [ANSWER]
    assert parse_line(LINE + noise).messages == [ANSWER]


def test_two_messages_on_one_line_and_a_batch_are_all_taken() -> None:
    assert parse_line(LINE + LINE).messages == [ANSWER, ANSWER]
    assert parse_line(b"[" + LINE + b"," + LINE + b"]").messages == [ANSWER, ANSWER]


@pytest.mark.parametrize(
    "line", [b"=== banner ===", b'{"level":"info"}', b"[1,2]", b"5", b'"x"', b"\xc4\xe3\xba\xc3", b"{"]
)
def test_other_things_on_stdout_are_noise(line: bytes) -> None:
    parsed = parse_line(line)
    assert parsed.messages == []
    assert parsed.noise


def test_json_broken_over_several_lines_is_joined_and_half_a_line_is_not() -> None:
    reader = LineReader(10_000)
    pretty = json.dumps(ANSWER, indent=2, ensure_ascii=False).encode().split(b"\n")
    found = [message for line in (*pretty, LINE) for message in reader.parse(line).messages]
    assert found == [ANSWER, ANSWER]
    torn = [reader.parse(line) for line in (LINE[:30], LINE, LINE)]
    assert [len(parsed.messages) for parsed in torn] == [0, 1, 1]
    assert torn[0].broken is None or torn[0].broken.id == 1


def test_numbers_and_characters_that_break_parsers_are_taken() -> None:
    big = b"9" * 5000
    (message,) = parse_line(b'{"jsonrpc":"2.0","id":1,"result":{"n":%s,"m":NaN,"s":"\\ud83d"}}' % big).messages
    assert message["result"]["n"] == big.decode()
    assert message["result"]["s"] == "\ufffd"
    assert message["result"]["m"] != message["result"]["m"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("天气晴，二十度".encode("gbk"), "天气晴，二十度"),
        ("𠮷野家 €".encode("gb18030"), "𠮷野家 €"),
        ("晴".encode("gbk"), "晴"),
        ("天气".encode() + b"\xff" + "晴".encode(), "天气\ufffd晴"),  # mostly UTF-8
        (b"caf\xe9", "caf\ufffd"),  # neither
    ],
)
def test_a_line_in_another_encoding_is_read_as_what_it_is(written: bytes, read: str) -> None:
    (message,) = parse_line(b'{"jsonrpc":"2.0","id":1,"result":{"s":"%s"}}' % written).messages
    assert message["result"]["s"] == read


def test_an_answer_that_cannot_be_parsed_ends_its_call() -> None:
    deep = b'{"jsonrpc":"2.0","id":"3","result":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    assert parse_line(deep).broken == UnreadableAnswer("3", "the message is nested too deeply")
    cut = parse_line(b'{"jsonrpc":"2.0","id":4,"result":{"text":"')
    assert cut.broken is not None
    assert cut.broken.id == 4


def test_a_message_is_written_on_one_line_and_nan_is_refused() -> None:
    assert encode({"a": "汉\n\ud83d"}) == '{"a":"汉\\n\ufffd"}\n'.encode()
    with pytest.raises(ValueError, match="JSON"):
        encode({"a": float("nan")})
