"""Structured content beside text: all of it reaches the model, and nothing twice."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from mcp_bridge.facades.tool_response import readable_content
from mcp_bridge.tools.result import convert


def text_of(text: str, structured: Any) -> str:
    return convert({"content": [{"type": "text", "text": text}], "structuredContent": structured}).text


def block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@pytest.mark.parametrize(
    ("text", "structured"),
    [
        ("Found 2 cities.", {"cities": ["甲", "乙"]}),
        ("returned 3 item(s)", {"items": [{"id": 71, "n": "a"}], "count": 3}),
        ("Report for 2015-10-20 done.", {"temps": [2, 0, 1, 5]}),
        ("Found 3 orders (page 1 of 12).", {"orders": [1, 2, 3], "total": 412}),
        ("all done", {"grade": "a", "next": "d"}),
        ("Found Ann.", {"name": "Ann", "email": "ann@example.org"}),
        ("Error: timeout", {"error": "timeout", "retry_after": 30}),
        ("\n".join(f"row{i}" for i in range(200)), {"rows": [f"row{i}" for i in range(400)]}),
    ],
)
def test_a_summary_does_not_keep_the_data_from_the_model(text: str, structured: Any) -> None:
    """A server that says "2 found" as text and the two as structured content has said both."""
    told = text_of(text, structured)
    assert told == f"{text}\n{json.dumps(structured, ensure_ascii=False)}"


@pytest.mark.parametrize(
    ("text", "structured"),
    [
        ("甲 and 乙", {"cities": ["甲", "乙"]}),
        ("城市：北京市，气温21度", {"city": "北京", "t": 21.0}),
        ("done", {"ok": True, "error": None}),
        (json.dumps({"城市": "北京"}), {"城市": "北京"}),
        (json.dumps({"q": 'He said "hi"', "p": "C:\\x"}), {"q": 'He said "hi"', "p": "C:\\x"}),
        (r'{"u":"https:\/\/x\/y"}', {"u": "https://x/y"}),
        ('{"t":"one\\ntwo"}', {"t": "one\ntwo"}),
        ("a picture", {"png": base64.b64encode(bytes(range(256)) * 9).decode()}),
        ("hi", {"result": [block("hi")]}),
        ("word " * 30_000, {"n": [123456, "abcdefghijk"]}),  # cut anyway, before this would come
    ],
)
def test_what_the_text_says_already_in_any_spelling_is_not_told_twice(text: str, structured: Any) -> None:
    assert text_of(text, structured) == convert({"content": [block(text)]}).text


def test_blocks_in_structured_content_that_a_summary_leaves_out_are_read() -> None:
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    assert text_of("2 messages", {"messages": [block("hello"), block("bye")]}) == "2 messages\nhello\nbye"
    shown = convert({"content": [block("Taken.")], "structuredContent": {"result": [picture]}})
    assert (shown.text, [media.data for media in shown.media]) == ("Taken.\n[1 image, image/png, 2 bytes]", [b"hi"])


def test_the_data_reaches_those_who_take_blocks_too() -> None:
    result = convert({"content": [block("2 found")], "structuredContent": {"rows": [{"id": "x1"}]}})
    assert readable_content(result, result.text, 20_000) == [block("2 found"), block('{"rows": [{"id": "x1"}]}')]
    alone = convert({"content": [block("x1 found")], "structuredContent": {"rows": [{"id": "x1"}]}})
    assert readable_content(alone, alone.text, 20_000) == [block("x1 found")]
    short = readable_content(result, result.text, 20)
    assert short == [block(result.text)]
