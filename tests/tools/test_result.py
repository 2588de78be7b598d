"""What the model reads of a server's answer, whatever that looks like."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge.tools.result import NO_OUTPUT, NO_REASON, convert

PNG = b"\x89PNG\r\n\x1a\n123"
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
kinds = st.sampled_from(
    ["text", "image", "audio", "resource", "resource_link", "hologram", "image_url", "TEXT", 5, None]
)
fields = st.sampled_from(
    ["text", "data", "mimeType", "uri", "name", "resource", "description", "blob", "source", "image_url"]
)
blocks = st.dictionaries(fields, json_values, max_size=4).flatmap(
    lambda block: kinds.map(lambda kind: {**block, "type": kind})
)
results = (
    st.fixed_dictionaries(
        {},
        optional={
            "content": json_values | st.lists(blocks | json_values, max_size=4),
            "isError": json_values,
            "structuredContent": json_values,
        },
    )
    | json_values
)


@given(results)
def test_any_answer_gives_the_model_text_at_once(raw: Any) -> None:
    """No shape of answer can end a chat turn with an exception or with silence."""
    result = convert(raw, max_chars=200)
    assert result.text.strip()
    assert len(result.text) <= 200
    result.text.encode()


def text_of(*content: Any, **more: Any) -> str:
    return convert({"content": list(content), **more}).text


def test_all_text_blocks_arrive_in_order() -> None:
    texts = [{"type": "text", "text": word} for word in ("alpha", "beta", "gamma")]
    assert text_of(*texts) == "alpha\nbeta\ngamma"


def test_data_only_in_structured_content_reaches_the_model() -> None:
    result = convert({"content": [], "structuredContent": {"answer": 42, "items": ["甲", "乙"]}})
    assert json.loads(result.text) == {"answer": 42, "items": ["甲", "乙"]}
    assert "甲" in result.text
    assert result.structured == {"answer": 42, "items": ["甲", "乙"]}


def test_structured_content_with_nan_is_json_that_a_model_api_takes() -> None:
    assert convert({"structuredContent": {"mean": float("nan")}}).text == '{"mean": null}'


def test_structured_content_that_is_in_the_text_already_is_not_told_twice() -> None:
    assert text_of({"type": "text", "text": "42"}, structuredContent={"result": 42}) == "42"


@pytest.mark.parametrize(
    "row",
    [
        {"type": "text", "text": "hi", "author": "bob"},
        {"type": "resource", "resource": {"cpu": 4}, "owner": "bob"},
        {"type": "resource", "resource": {"cpu": 4}},
        {"type": "image", "data": "logo", "caption": "bob"},
        {"type": "image", "data": "logo.png"},
        {"type": "audio", "data": "on", "uri": "x"},
        {"type": "resource_link", "uri": "file:///x", "rights": "bob"},
    ],
)
def test_rows_of_data_that_look_like_blocks_lose_nothing(row: dict[str, Any]) -> None:
    """The messages of a chat have a type and a text, too, and a sender beside it."""
    shown = convert({"content": [], "structuredContent": {"rows": [row]}}).text
    assert json.loads(shown) == {"rows": [row]}


def test_an_image_is_announced_and_kept_apart() -> None:
    data = base64.b64encode(PNG).decode()
    result = convert({"content": [{"type": "image", "data": data, "mimeType": "image/png"}]})
    assert result.text == f"[1 image, image/png, {len(PNG)} bytes]"
    assert [(m.type, m.mime_type, m.data, m.name) for m in result.media] == [("image", "image/png", PNG, "image-1.png")]
    assert data not in result.text


def test_audio_is_announced_and_kept_apart() -> None:
    result = convert({"content": [{"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}]})
    assert result.text == "[1 audio, audio/wav, 4 bytes]"
    assert result.media[0].data == b"RIFF"


@pytest.mark.parametrize(
    "block",
    [
        {"data": "%%%"},
        {"data": None},
        {"data": 5},
        {},
        {"data": "aGFsbG8="},
        {"data": "a", "mimeType": "image/png"},
    ],
)
def test_a_broken_picture_is_a_note_and_the_rest_arrives(block: dict[str, Any]) -> None:
    result = convert({"content": [{"type": "image", **block}, {"type": "text", "text": "after"}]})
    assert "cannot be shown" in result.text
    assert result.text.endswith("after")
    assert result.media == ()


def test_pictures_as_data_urls_or_with_line_breaks_are_understood() -> None:
    folded = base64.encodebytes(PNG).decode()
    assert convert({"content": [{"type": "image", "data": folded, "mimeType": "image/png"}]}).media[0].data == PNG
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    assert convert({"content": [{"type": "image", "data": url}]}).media[0].mime_type == "image/png"


def test_a_link_is_told_and_never_followed() -> None:
    link = {
        "type": "resource_link",
        "uri": "https://example.invalid/r.pdf",
        "name": "r.pdf",
        "description": "Q3",
    }
    assert text_of(link) == "[link to https://example.invalid/r.pdf; r.pdf; Q3]"


def test_embedded_resources_give_their_text_or_their_bytes() -> None:
    assert text_of({"type": "resource", "resource": {"uri": "file:///a.txt", "text": "hello"}}) == (
        "[resource file:///a.txt]\nhello"
    )
    blob = {"uri": "file:///../etc/p%2Fa.bin", "blob": "AAE="}
    result = convert({"content": [{"type": "resource", "resource": blob}]})
    assert result.media[0].data == b"\x00\x01"
    assert result.media[0].name == "1-a.bin"


@pytest.mark.parametrize("uri", ["file:///..", "file:///a/..%2f..%2fetc", "C:\\x\\..\\y", "http://[", "x" * 500])
def test_a_server_cannot_choose_where_its_files_go(uri: str) -> None:
    blob = {"type": "resource", "resource": {"uri": uri, "blob": "AAE="}}
    try:
        media = convert({"content": [blob]}).media
    except ValueError:
        pytest.fail("an address must not raise")
    assert all("/" not in m.name and "\\" not in m.name and not m.name.startswith(".") for m in media)
    assert all(len(m.name) < 100 for m in media)


@pytest.mark.parametrize(
    ("raw", "text", "is_error"),
    [
        ({"content": [], "error": "disk is full"}, '{"error": "disk is full"}', True),
        ({"content": [], "isError": True, "message": "disk is full"}, '{"message": "disk is full"}', True),
        ({"content": [], "toolResult": "5"}, '{"toolResult": "5"}', False),
        ({"content": None, "structuredContent": None, "toolResult": "5"}, '{"toolResult": "5"}', False),
        ({"content": [], "resultType": "complete", "_meta": {}, "nextCursor": ""}, NO_OUTPUT, False),
        ({"content": [], "isError": False, "error": "warned"}, '{"error": "warned"}', False),
        ({"content": [{"type": "error", "text": "disk is full"}], "isError": True}, "disk is full", True),
        ({"content": [{"type": "output_text", "text": "5"}]}, "5", False),
        ({"content": [{"type": "text", "content": "5"}]}, "5", False),
        ({"content": [{"type": "text", "value": "5"}]}, "5", False),
        ({"content": 5}, "5", False),
        ({"content": True}, "true", False),
        ({"content": [[{"type": "text", "text": "5"}]]}, "5", False),
        ({"content": [{"type": "resource", "uri": "file:///x", "name": "n"}]}, "[link to file:///x; n]", False),
        (
            {"content": [{"type": "image", "data": "https://x/a.png", "mimeType": "image/png"}]},
            "[link to https://x/a.png; image]",
            False,
        ),
    ],
)
def test_words_beside_the_place_for_them_are_read(raw: dict[str, Any], text: str, is_error: bool) -> None:
    """An empty list of blocks, or a block by another API's rules, hides no answer and no reason."""
    result = convert(raw)
    assert (result.text, result.is_error) == (text, is_error)


def test_empty_text_beside_a_file_does_not_hide_the_file() -> None:
    file = {"uri": "file:///a.png", "text": "", "mimeType": "image/png", "blob": base64.b64encode(PNG).decode()}
    (media,) = convert({"content": [{"type": "resource", "resource": file}]}).media
    assert (media.data, media.name) == (PNG, "1-a.png")


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes])
def test_base64_of_every_spelling_is_no_text_for_a_model(encode: Any) -> None:
    shown = convert({"content": [], "structuredContent": {"png": encode(bytes(range(256)) * 9).decode()}}).text
    assert "characters of base64 not shown" in shown
    prose = "Wort-2 und noch eins\n" * 99
    assert json.loads(convert({"content": [], "structuredContent": {"text": prose}}).text) == {"text": prose}


def test_unknown_blocks_are_counted_and_the_known_ones_shown() -> None:
    text = text_of({"type": "text", "text": "known"}, {"type": "hologram"}, 5, None)
    assert text.startswith("known")
    assert "3 content blocks of an unknown kind" in text


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({}, NO_OUTPUT),
        (None, NO_OUTPUT),
        ({"content": None}, NO_OUTPUT),
        ({"content": "plain"}, "plain"),
        ({"content": {"type": "text", "text": "one"}}, "one"),
        ({"content": {"a": 1}}, '{"a": 1}'),
        ({"content": [{"type": "text", "text": None}]}, NO_OUTPUT),
        ({"content": [{"type": "text", "text": {"a": 1}}]}, '{"a": 1}'),
        ({"content": [{"type": "text", "text": "  "}]}, NO_OUTPUT),
        ({"toolResult": {"a": 1}}, '{"toolResult": {"a": 1}}'),
        ("text", "text"),
    ],
)
def test_odd_shapes_of_content_are_read_for_what_they_are(raw: Any, expected: str) -> None:
    result = convert(raw)
    assert (result.text, result.is_error) == (expected, False)


PICTURE = base64.b64encode(PNG + b"x" * 3000).decode()
IMAGE = {"type": "image", "data": PICTURE, "mimeType": "image/png"}
DATA_URL = f"data:image/png;base64,{PICTURE}"


@pytest.mark.parametrize(
    "raw",
    [
        {"content": [{"type": "Image", "data": PICTURE, "mimeType": "image/png"}]},
        {"content": [{"type": "image", "data": PICTURE, "mime_type": "image/png"}]},
        {"content": [{"data": PICTURE, "mimeType": "image/png"}]},
        {"content": [{"type": None, "data": PICTURE, "mimeType": "image/png"}]},
        {"content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}]},
        {"content": [{"type": "image_url", "image_url": {"url": DATA_URL}}]},
        {"content": [{"type": "input_image", "image_url": DATA_URL}]},
        {"content": {"0": IMAGE}},
        {"content": [IMAGE], "structuredContent": {"result": [IMAGE]}},
        {"content": [IMAGE], "structuredContent": IMAGE},
        {"content": [], "structuredContent": {"result": [IMAGE]}},
        {"structuredContent": {"content": [IMAGE]}},
    ],
)
def test_a_picture_in_the_shape_of_another_api_or_told_twice_is_one_picture(raw: dict[str, Any]) -> None:
    result = convert(raw)
    assert result.text == f"[1 image, image/png, {len(PNG) + 3000} bytes]"
    assert [(one.type, one.mime_type, one.data) for one in result.media] == [("image", "image/png", PNG + b"x" * 3000)]


def test_base64_in_structured_content_is_no_text_for_a_model() -> None:
    result = convert({"content": [], "structuredContent": {"page": 1, "shots": [PICTURE], "url": DATA_URL}})
    shown = json.loads(result.text)
    assert shown == {
        "page": 1,
        "shots": [f"[{len(PICTURE)} characters of base64 not shown]"],
        "url": f"[{len(DATA_URL)} characters of base64 not shown]",
    }
    assert result.structured["shots"] == [PICTURE]  # programs get it untouched
    gene = {"gene": "ACGT" * 1000, "word": "a1" * 1000}
    assert json.loads(convert({"structuredContent": gene}).text) == gene


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ({"content": {"0": {"type": "text", "text": "a"}, "1": {"type": "text", "text": "b"}}}, "a\nb"),  # PHP
        ({"content": [{"type": "TEXT", "text": "a"}]}, "a"),
        ({"content": [{"type": "resource", "uri": "x:y", "text": "a"}]}, "[resource x:y]\na"),
        (
            {"content": [{"type": "resource", "resource": [{"uri": "x:y", "text": "a"}, {"uri": "z:z", "text": "b"}]}]},
            "[resource x:y]\na\n[resource z:z]\nb",
        ),
        (
            {"content": [{"type": "image_url", "image_url": {"url": "https://example.invalid/a.png"}}]},
            "[link to https://example.invalid/a.png; image]",
        ),
        ({"content": [], "structuredContent": {"result": [{"type": "text", "text": "a"}]}}, "a"),
        ({"structuredContent": {"pet": {"type": "image"}}}, '{"pet": {"type": "image"}}'),
    ],
)
def test_lists_and_resources_as_other_languages_write_them_are_read(raw: dict[str, Any], text: str) -> None:
    assert convert(raw).text == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ({"content": [{"type": "text", "text": "disk is full"}], "is_error": True}, "disk is full"),
        ({"error": "disk is full"}, '{"error": "disk is full"}'),
        ({"error": {"message": "disk is full"}}, '{"error": {"message": "disk is full"}}'),
    ],
)
def test_a_failure_in_a_shape_of_its_own_is_marked_too(raw: dict[str, Any], text: str) -> None:
    result = convert(raw)
    assert (result.text, result.is_error) == (text, True)
    assert not convert({"error": None, "answer": 42}).is_error


def test_a_failure_is_marked_and_an_empty_one_says_so() -> None:
    failed = convert({"content": [{"type": "text", "text": "disk is full"}], "isError": True})
    assert (failed.text, failed.is_error) == ("disk is full", True)
    assert convert({"content": [], "isError": True}).text == NO_REASON


def test_a_flood_of_text_is_cut_in_the_middle() -> None:
    result = convert({"content": [{"type": "text", "text": "HEAD" + "汉" * 700_000 + "TAIL"}]}, max_chars=2000)
    assert len(result.text) <= 2000
    assert result.text.startswith("HEAD")
    assert result.text.endswith("TAIL")
