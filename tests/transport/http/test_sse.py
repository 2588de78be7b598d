"""Event streams as they come from a network: in any pieces, with any line ends, of any length."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge.transport.framing import UnreadableAnswer, parse_line
from mcp_bridge.transport.http.sse import Event, EventReader
from tests.support.waiting import GENEROUS

LIMIT = 5000
VALUES = st.text("abc: \x00é", max_size=30)
EVENTS = st.lists(
    st.builds(
        Event, st.sampled_from(["message", "ping"]), st.lists(VALUES, min_size=1, max_size=3).map("\n".join), st.none()
    ),
    max_size=5,
)


def written(event: Event, end: str) -> str:
    lines = [f"event: {event.name}", *(f"data: {line}" for line in event.data.split("\n")), ""]
    return end.join(lines) + end


def read(stream: bytes, size: int, limit: int = LIMIT) -> list[Event]:
    reader = EventReader(limit)
    pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
    return [event for piece in (*pieces, b"") for event in reader.feed(piece)]


@given(EVENTS, st.sampled_from(["\n", "\r", "\r\n"]), st.integers(1, 70))
def test_events_arrive_whole_however_they_are_cut(events: list[Event], end: str, size: int) -> None:
    stream = "".join(written(event, end) for event in events).encode()
    assert read(stream, size) == events


@given(st.binary(max_size=300).filter(lambda piece: not piece.startswith(b"\xef")), st.integers(1, 40))
def test_whatever_comes_it_is_read_the_same_in_one_piece_and_in_many(stream: bytes, size: int) -> None:
    assert read(stream, size) == read(stream, len(stream) + 1)


@given(st.integers(1, 3000), st.integers(0, 20_000), st.booleans())
def test_of_an_event_over_the_limit_both_ends_are_kept_and_the_next_one_is_read(
    size: int, length: int, many_lines: bool
) -> None:
    begin, end = b'{"id":7,"result":"', b'x"}'
    fill = b"y" * length
    if many_lines:
        fill = b"\ndata: ".join(fill[start : start + 50] for start in range(0, length + 1, 50))
    stream = b"data: " + begin + fill + end + b"\n\ndata: next\n\n"
    large, following = read(stream, size)
    assert following == Event(data="next")
    if length <= LIMIT - 200:
        assert large.too_long is None
    if length > LIMIT:
        assert large.too_long is not None
        assert large.data == ""
        assert parse_line(large.too_long).broken == UnreadableAnswer(
            7, f"the message is too long ({large.too_long.size} bytes)"
        )
        assert large.too_long.size == len(begin) + length + len(end)
        assert large.too_long.edges.endswith(end)


@given(st.lists(st.integers(0, 3000), max_size=40))
def test_no_more_is_kept_than_the_limit(sizes: list[int]) -> None:
    reader = EventReader(LIMIT)
    data = b"data: " + b"x" * sum(sizes)
    for size in sizes:
        piece, data = data[:size], data[size:]
        if piece:
            assert reader.feed(piece) == []
        assert sum(map(len, (*reader._partial, *reader._data))) <= LIMIT


@pytest.mark.parametrize("size", [4096, 65536])
def test_a_large_event_in_small_pieces_takes_no_longer_than_it_is_long(size: int) -> None:
    began = time.monotonic()
    (event,) = read(b"data: " + b"x" * (24 * 2**20) + b"\n\n", size, 64 * 2**20)
    assert len(event.data) == 24 * 2**20
    assert time.monotonic() - began < GENEROUS  # a second at the most; when all was looked at again: minutes


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_an_event_is_there_with_its_last_byte_whatever_ends_its_lines(end: str) -> None:
    stream = f"data: a{end}{end}data: b{end}{end}".encode()
    for size in range(1, len(stream)):
        reader = EventReader(LIMIT)
        pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
        events = [event for piece in pieces for event in reader.feed(piece)]
        assert [event.data for event in events] == ["a", "b"]
        assert reader.feed(b"") == []
