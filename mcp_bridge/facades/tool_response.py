"""A result as content blocks: text, images and audio in the order in which the server sent them."""

from __future__ import annotations

import base64
import logging
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from .._typing import assert_never
from ..text.cleaning import clean_label, truncate
from ..tools.content import block_kind, standard_block
from ..tools.result import NO_OUTPUT, Media, ToolResult, convert

logger = logging.getLogger(__name__)

Block = dict[str, Any]
"""A content block as JSON values."""


class ToolResponse(list[Block]):
    """The blocks of a result as plain dicts in agentscope's shape.

    A block is `{"type": "text", "text": ...}`, or of type image or audio with a `source` of `type`
    base64, `media_type` and `data`. `content` is this list, for programs that use agentscope's own `ToolResponse`.
    """

    def __init__(self, content: Iterable[Mapping[str, Any]], *, is_error: bool = False) -> None:
        super().__init__(map(_sourced, content))
        self.is_error = is_error

    @property
    def content(self) -> list[Block]:
        return self


def readable_content(result: ToolResult, text: str, max_chars: int) -> list[Block]:
    """Return a result as MCP content blocks of the types text, image and audio; never empty.

    Other types become text, and all text is clean. `text` replaces the blocks' own text if the result is an
    error or longer than `max_chars` characters.
    """
    content = result.raw.get("content")
    if not result.is_error and isinstance(content, list):
        blocks = _in_order(content)
        chars = sum(len(block["text"]) for block in blocks if block["type"] == "text")
        if blocks and chars <= max_chars and result.structured is None:
            return blocks
        # `result.text` may go on after the blocks' text: with structured content that the blocks lack.
        own_text = convert({"content": content}, max_chars=sys.maxsize).text
        fits = len(result.text) <= max_chars and result.text.startswith(own_text)
        if blocks and any(map(_has_text, content)) and fits:
            more = result.text.removeprefix(own_text).strip()
            return [*blocks, *([_text(more)] if more else [])]
    return [_text(text), *_media_blocks(result.media)]


def _in_order(content: list[object]) -> list[Block]:
    """Return the readable form of each block that has one."""
    blocks: list[Block] = []
    for block in content:
        _warn_of_unknown(block)
        one = convert({"content": [block]}, max_chars=sys.maxsize)
        shown = _media_blocks(one.media)
        if not shown and one.text != NO_OUTPUT:
            shown = [_text(one.text)]
        blocks += shown
    return blocks


def _warn_of_unknown(block: object) -> None:
    block = standard_block(block)
    if isinstance(block, str) or block_kind(block) is not None:
        return
    kind = block.get("type") if isinstance(block, Mapping) else type(block).__name__
    if isinstance(kind, str) and kind != "str":
        logger.warning("a content block of the unknown kind '%s' is not shown", truncate(clean_label(kind), 80))


def _has_text(block: object) -> bool:
    match block:
        case {"type": "text", "text": str() as text}:
            return bool(clean_label(text))
        case _:
            return False


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _media_blocks(media: Iterable[Media]) -> list[Block]:
    """Return the blocks of pictures and sounds; a file is only described, by the text of its result."""
    blocks: list[Block] = []
    for one in media:
        match one.type:
            case "image" | "audio":
                data = base64.b64encode(one.data).decode("ascii")
                blocks.append({"type": one.type, "data": data, "mimeType": one.mime_type})
            case "file":
                pass
            case _:
                assert_never(one.type)
    return blocks


def _sourced(block: Mapping[str, Any]) -> Block:
    """Return a content block in agentscope's shape."""
    if block["type"] == "text":
        return dict(block)
    source = {"type": "base64", "media_type": block["mimeType"], "data": block["data"]}
    return {"type": block["type"], "source": source}
