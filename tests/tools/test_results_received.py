"""Results: what users saw of a tool's answer, over every transport."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge import Bridge, ToolResult, create_mcp_tool_class, load_config
from mcp_bridge.hosts.maibot.tool import MaiBotTool
from tests.support.entries import Write, odd
from tests.support.remote import at, remote
from tests.support.waiting import GENEROUS

pytestmark = pytest.mark.usefixtures("no_children_left")
WAYS = ("stdio", *(pytest.param(way, marks=pytest.mark.process) for way in ("http", "stream", "sse")))
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@dataclass
class Results:
    """A bridge to one server with a tool for each shape of result."""

    bridge: Bridge

    async def of(self, shape: str) -> tuple[ToolResult, str]:
        """Return what a program gets and what the model reads; at once, although the limit is 60 s."""
        (tool,) = [one for one in self.bridge.tools() if one.remote_name == shape]
        result = await asyncio.wait_for(self.bridge.call(tool.name), GENEROUS)
        answer = await asyncio.wait_for(create_mcp_tool_class(tool, self.bridge)().execute({}), GENEROUS)
        assert answer["content"].strip()
        return result, answer["content"]

    async def text(self, shape: str) -> str:
        """Return what the model reads of a success."""
        result, message = await self.of(shape)
        assert not result.is_error, result.text
        assert message == result.text
        return message

    async def echo_works(self) -> bool:
        return (await self.bridge.call("mcp_s_echo", {"text": "after"})).text == "after"


Open = Callable[..., Any]


@pytest.fixture(params=WAYS)
def results(request: pytest.FixtureRequest, write_config: Write, tmp_path: Path) -> Open:
    """Open a bridge to the server over one transport, with more keys in its entry."""
    more: dict[str, Any] = {"call_timeout": 60, "session": "shared"}  # one odd answer must not spoil the next

    @asynccontextmanager
    async def open_bridge(**keys: Any) -> AsyncIterator[Results]:
        keys = more | keys
        if request.param == "stdio":
            lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in keys.items())
            async with Bridge(load_config(write_config(odd("s", "results", more=lines)))) as bridge:
                yield Results(bridge)
            return
        options = ["answer=sse"] if request.param == "stream" else []
        with remote(tmp_path, "results", *options) as server:
            path = "/sse" if request.param == "sse" else "/mcp"
            keys |= {"transport": "sse"} if request.param == "sse" else {}
            async with Bridge(load_config(write_config(at(server.origin + path, **keys)))) as bridge:
                yield Results(bridge)

    return open_bridge


async def pictures_of(opened: Results, shape: str) -> list[tuple[str, str, bytes]]:
    """Return what a bot that shows pictures is handed."""
    (tool,) = [one for one in opened.bridge.tools() if one.remote_name == shape]
    answer = await create_mcp_tool_class(tool, opened.bridge, MaiBotTool)().execute({})
    items = [one for one in answer["content_items"] if "data" in one]
    return [(one["content_type"], one["mime_type"], base64.b64decode(one["data"])) for one in items]


async def test_data_only_in_structured_content_reaches_the_model(results: Open) -> None:
    """Reported: data only in structured content reached the model as empty."""
    async with results() as opened:
        result, message = await opened.of("structured_only")
        assert json.loads(message) == result.structured == {"answer": 42, "items": ["甲", "乙"]}
        assert "42" in message
        assert "甲" in message


async def test_every_text_block_reaches_the_model(results: Open) -> None:
    """Reported: only the first of several text blocks reached the model."""
    async with results() as opened:
        assert await opened.text("multi_text") == "alpha\nbeta\ngamma"
        mixed = await opened.text("mixed")
        words = ["first", "image/png", "second", "report.pdf", "embedded note", "audio/wav", "last"]
        assert [word for word in sorted(words, key=mixed.index) if word in mixed] == words


async def test_an_image_is_announced_to_the_model_and_handed_to_the_bot(results: Open) -> None:
    """Reported: an image vanished and the model was told the result was empty."""
    async with results() as opened:
        for shape, message in (("image", "here it is\n"), ("image_only", "")):
            result, said = await opened.of(shape)
            assert said == f"{message}[1 image, image/png, 70 bytes]"
            (media,) = result.media
            assert (media.type, media.mime_type, media.data) == ("image", "image/png", base64.b64decode(PNG))
            assert await pictures_of(opened, shape) == [("image", "image/png", media.data)]
        bad, said = await opened.of("image_bad")
        assert said.count("[1 image that cannot be shown: ") == 5
        assert "no mimeType, 70 bytes" in said
        assert said.endswith("after the bad pictures")
        assert (bad.is_error, bad.media) == (False, ())
        assert PNG[:40] not in said


async def test_a_sound_is_announced_to_the_model_and_handed_to_the_bot(results: Open) -> None:
    """Reported: a sound was lost or went into the prompt as base64."""
    async with results() as opened:
        result, said = await opened.of("audio")
        assert said == "[1 audio, audio/wav, 46 bytes]"
        (media,) = result.media
        assert (media.type, media.mime_type, media.data[:4], len(media.data)) == ("audio", "audio/wav", b"RIFF", 46)
        assert await pictures_of(opened, "audio") == [("audio", "audio/wav", media.data)]


async def test_a_link_to_a_file_is_shown_beside_the_rest_of_the_result(results: Open) -> None:
    """Reported: a link to a file discarded the whole result."""
    async with results() as opened:
        said = await opened.text("link")
        for word in ("https://example.invalid/report.pdf", "report.pdf", "The yearly report"):
            assert word in said


async def test_content_of_an_unknown_kind_costs_no_other_content(results: Open) -> None:
    """Reported: content of an unknown kind crashed the channel."""
    async with results() as opened:
        assert await opened.text("unknown_type") == "known\n[3 content blocks of an unknown kind not shown]"
        for shape, said in {
            "no_content": "(no output)",
            "content_null": "(no output)",
            "content_string": "plain string",
            "content_object": "lonely block",
            "text_null": "(no output)",
            "result_null": "(no output)",
        }.items():
            assert await opened.text(shape) == said, shape
        for shape, said in {"rpc_error_bare": "error -32000 without a message", "rpc_error_odd": "it broke"}.items():
            result, message = await opened.of(shape)
            assert result.is_error
            assert said in message, shape
        assert await opened.echo_works()


async def test_a_tool_that_reports_an_error_counts_as_failed(results: Open) -> None:
    """Reported: a failed tool was counted as a success."""
    async with results() as opened:
        for shape, said in {
            "is_error": "disk is full",
            "is_error_empty": "The tool failed without giving a reason.",
            "rpc_error": "backend unavailable (code -32000)",
        }.items():
            result, message = await opened.of(shape)
            assert (result.is_error, result.text) == (True, said)
            assert message == f"Tool '{shape}' of MCP server 's' reported an error: {said}"
        (status,) = opened.bridge.status()
        assert (status.state, status.calls, status.failures) == ("ready", 6, 6)
        assert "backend unavailable" in status.last_error
        assert await opened.echo_works()


async def test_a_success_without_output_is_a_success(results: Open) -> None:
    """Reported: a success without output was treated as an error."""
    async with results() as opened:
        for shape in ("empty", "empty_text", "blank_text"):
            assert await opened.text(shape) == "(no output)"
        assert opened.bridge.status()[0].failures == 0


async def test_two_megabytes_of_text_are_cut_for_the_model(results: Open) -> None:
    """Reported: two megabytes of text flooded the context."""
    async with results(max_result_chars=5000) as opened:
        said = await opened.text("huge")
        assert len(said) <= 5000
        assert said.startswith("HEAD汉字内容")
        assert said.endswith("汉字内容TAIL")
        assert f"[{666_676 - 5000} or more of 666676 characters cut]" in said
        assert "\ufffd" not in said
        blob, said = await opened.of("huge_blob")
        assert said == f"a picture\n[1 image, image/png, {3 << 20} bytes]"
        assert len(blob.media[0].data) == 3 << 20


# Siblings: other shapes that servers send.

SAID: dict[str, str] = {
    "structured_no_content": '{"n": 7}',
    "structured_both": '{"answer": 42}',
    "structured_list": '[1, "二", null]',
    "structured_scalar": "42",
    "structured_null": "text",
    "image_data_url": "[1 image, image/png, 70 bytes]\n[1 image, image/png, 70 bytes]",
    "image_unpadded": "[1 image, image/png, 4 bytes]",
    "audio_bad": "[1 audio that cannot be shown: its data is not valid base64]\nafter",
    "embedded_text": "[resource file:///a.txt]\nembedded text",
    "embedded_blob": "[1 file file:///a.png, image/png, 70 bytes]",
    "content_strings": "one\ntwo",
    "untyped": "no type\nnull type\n[1 content block of an unknown kind not shown]",
    "text_number": '42\n["x"]\n{"y": 1}',
    "text_missing": "(no output)",
    "result_string": "just a string",
    "result_list": "in a list",
    "result_number": "42",
    "result_false": "false",
    "tool_result": '{"toolResult": {"old": "shape"}}',
    "is_error_null": "fine",
    "annotated": "for the user\nfor the model\nodd",
    "unicode": "👨‍👩‍👧 می‌خواهم a\u2028b\x85c",
}
FAILED: dict[str, str] = {
    "is_error_string": "disk is full",
    "is_error_structured": '{"e": "why"}',
    "is_error_image": "[1 image, image/png, 70 bytes]",
    "result_and_error": "both (code -1)",
    "result_missing": "neither result nor error",
    "rpc_error_null": "neither result nor error",
    "rpc_error_empty": "without a message",
    "rpc_error_types": '{"a": "deep"}',
    "rpc_error_list": '["a", "b"]',
    "rpc_unknown_tool": "Unknown tool (code -32602)",
}


async def test_every_other_shape_of_success_is_read_for_what_it_is(results: Open) -> None:
    async with results() as opened:
        assert {shape: (await opened.bridge.call(f"mcp_s_{shape}")).text for shape in SAID} == SAID
        assert opened.bridge.status()[0].failures == 0


async def test_every_other_shape_of_failure_is_told_with_its_reason(results: Open) -> None:
    async with results() as opened:
        for shape, said in FAILED.items():
            result, message = await opened.of(shape)
            assert result.is_error, shape
            assert said in message, shape
        assert opened.bridge.status()[0].state == "ready"
        assert await opened.echo_works()


async def test_an_endless_error_text_or_thousands_of_blocks_are_cut_like_any_result(results: Open) -> None:
    async with results(max_result_chars=3000) as opened:
        for shape, ends in (("rpc_error_long", "(code 1)"), ("many_blocks", "line 4999")):
            result, message = await opened.of(shape)
            assert len(result.text) <= 3000
            assert message.endswith(ends)
        assert "characters cut" in (await opened.of("many_blocks"))[1]


async def test_colours_and_hidden_characters_do_not_reach_the_model(results: Open) -> None:
    async with results() as opened:
        assert await opened.text("ansi") == "red plain link \r50%\r100%"
        said = await opened.text("injection")
        assert said.startswith("Sunny.")
        assert not [character for character in said if ord(character) >= 0xE0000 or character in "\u202e\u202c"]


async def test_a_result_of_a_later_protocol_is_shown_instead_of_hanging(results: Open) -> None:
    async with results() as opened:
        assert "input_required" in (await opened.of("input_required"))[1]
        assert "working" in (await opened.of("task"))[1]
        assert await opened.echo_works()


async def test_a_picture_that_lies_about_its_kind_is_still_only_bytes(results: Open) -> None:
    async with results() as opened:
        result, said = await opened.of("image_wrong_type")
        assert all("/" not in media.name and ".." not in media.name for media in result.media)
        assert "passwd" not in said
        links = await opened.text("link_bad")
        assert links.count("[link") == 3


@pytest.mark.process
async def test_a_link_in_a_result_is_not_followed(write_config: Write, tmp_path: Path) -> None:
    """Reported: a link in a result made the bot download it."""
    with remote(tmp_path) as trap:
        async with Bridge(load_config(write_config(odd("s", "links_to", f"url={trap.origin}")))) as bridge:
            result = await bridge.call("mcp_s_links")
            assert f"{trap.origin}/report.pdf" in result.text
            assert result.media == ()
        assert trap.requests() == []
