"""Convert a server's response to `tools/call` into text that a model can read, and media.

Every content block of the protocol (schema 2025-11-25, `ContentBlock`) and every malformed one
yields text; the bytes of pictures and sounds are kept apart from it.
"""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import unquote

from .._typing import assert_never
from ..text import json_text
from ..text.cleaning import clean_label, clean_text, cut_middle, truncate
from .content import block_kind, numbered, repeated_blocks, standard_block, text_covers, without_base64

NO_OUTPUT = "(no output)"
NO_REASON = "The tool failed without giving a reason."
DEFAULT_MAX_CHARS = 20_000
_LABEL_CHARS = 500
"""Longest name, URI or description taken from a link, in characters."""
_BLANK_CHARS = 200
"""Texts of up to this many characters are checked for visible content."""
_KNOWN_KEYS = frozenset({"content", "structuredContent", "isError", "is_error", "_meta"})
_MIME = re.compile(r"[a-zA-Z0-9][\w.+-]*/[a-zA-Z0-9][\w.+-]*")
_DATA_URL = re.compile(r"data:([^;,]*)[^,]*,")
_UNSAFE_IN_NAME = re.compile(r"[^\w.-]+")

MediaType = Literal["image", "audio", "file"]


@dataclass(frozen=True)
class Media:
    """A picture, a sound or a file in a result. `data` is the decoded bytes."""

    type: MediaType
    mime_type: str
    data: bytes = field(repr=False)
    name: str


@dataclass(frozen=True)
class ToolResult:
    """The result of a call. `text` is never empty; `structured` is the server's own value, unchanged.

    `raw` is the whole `CallToolResult` as the server sent it, empty if there is none.
    """

    text: str
    is_error: bool = False
    media: tuple[Media, ...] = ()
    structured: Any = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


def error_result(reason: str, *, max_chars: int = DEFAULT_MAX_CHARS) -> ToolResult:
    """Return a failed result for an error of the tool itself, such as a JSON-RPC error."""
    return ToolResult(cut_middle(clean_text(reason).strip() or NO_REASON, max_chars), is_error=True)


def convert(
    result: object, *, max_chars: int = DEFAULT_MAX_CHARS, mask_errors: Callable[[str], str] = str
) -> ToolResult:
    """Convert a raw `CallToolResult` of any shape; never raises.

    The text is cut to `max_chars` characters. `mask_errors` removes secrets from the text of a failure
    before that.
    """
    if not isinstance(result, Mapping):
        result = {} if result is None else {"content": result}
    structured = result.get("structuredContent")
    is_error = _is_failure(result)
    reader = _BlockReader()
    reader.read(_blocks(result))
    if structured is not None:
        reader.add_structured(structured)
    if reader.unknown:
        plural = "s" if reader.unknown > 1 else ""
        reader.parts.append(f"[{reader.unknown} content block{plural} of an unknown kind not shown]")
    text = "\n".join(part for part in reader.parts if part.strip())
    if len(text) <= _BLANK_CHARS and not clean_label(text):
        text = NO_REASON if is_error else NO_OUTPUT
    text = mask_errors(text) if is_error else text
    return ToolResult(cut_middle(text, max_chars), is_error, tuple(reader.media), structured, result)


def _is_failure(result: Mapping[str, Any]) -> bool:
    """Tell whether a result reports a failure, in the protocol's form or a common variant of it."""
    flag = result.get("isError", result.get("is_error"))
    if flag is None and not result.get("content") and result.get("structuredContent") is None and result.get("error"):
        return True
    return flag in (True, "true", "True")


def _blocks(result: Mapping[str, Any]) -> list[Any]:
    """Return the content blocks; servers also send a single block, a string, or older shapes."""
    content = numbered(result.get("content"))
    match content:
        case None | [] if result.get("structuredContent") is None:
            # `toolResult` of protocol 2024-10-07, or a result of a later protocol: shown as JSON
            others = {key: value for key, value in result.items() if key not in _KNOWN_KEYS and value not in (None, "")}
            if others.get("resultType") == "complete":
                del others["resultType"]
            return [{"type": "text", "text": json_text.dumps(others)}] if others else []
        case None:
            return []
        case list() | tuple():
            return list(content)
        case Mapping() if "type" not in content:
            return [{"type": "text", "text": json_text.dumps(content)}]
        case int() | float():
            return [{"type": "text", "text": json_text.dumps(content)}]
        case _:
            return [content]


class _BlockReader:
    """Collects the text and the media of one result, in the order of its blocks."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.media: list[Media] = []
        self.has_text = False
        self.unknown = 0

    def add_structured(self, structured: Any) -> None:
        """Add structured content unless the blocks read so far contain it already."""
        if (repeated := repeated_blocks(structured)) is not None:
            inner = _BlockReader()
            inner.read(repeated)
            texts = [block.get("text") for block in repeated if block.get("type") == "text"]
            covered = len(inner.media) <= len(self.media) and text_covers("\n".join(self.parts), texts)
            if not self.parts or not covered:
                self.read(repeated)
        elif not self.has_text:
            self.parts.insert(0, clean_text(json_text.dumps(without_base64(structured))))
        elif not text_covers("\n".join(self.parts), structured):
            self.parts.append(clean_text(json_text.dumps(without_base64(structured))))

    def read(self, blocks: list[Any], *, inner: bool = False) -> None:
        """Add blocks; `inner` are those of a list that stands in place of a block."""
        for block in map(standard_block, blocks):
            kind = block_kind(block)
            match kind:
                case None:
                    self._other(block, inner=inner)
                case "text":
                    self._text(block.get("text"))
                case "image" | "audio":
                    self._media(kind, block.get("data"), block.get("mimeType"), None)
                case "resource":
                    self._embedded(block)
                case "resource_link":
                    self._link(block)
                case _:
                    assert_never(kind)

    def _other(self, block: object, *, inner: bool = False) -> None:
        """Show the text of what is not a block of the protocol; count it if it has none."""
        match block:
            case str():
                self._text(block)
            case {"text": str() as text}:  # of another API, or a type of the server's own
                self._text(text)
            case list() if not inner:
                self.read(block, inner=True)
            case _:
                self.unknown += 1

    def _text(self, text: object) -> None:
        if text is None:
            return
        self.parts.append(clean_text(text if isinstance(text, str) else json_text.dumps(text)))
        self.has_text = self.has_text or bool(self.parts[-1].strip())

    def _media(self, kind: MediaType, data: object, mime_type: object, uri: str | None) -> None:
        what = kind if uri is None else f"file {uri}"
        decoded, own_type = _decode(data)
        mime = _mime(mime_type) or own_type
        if decoded is None:
            self.parts.append(f"[1 {what} that cannot be shown: its data is not valid base64]")
        elif mime is None and kind != "file":
            self.parts.append(f"[1 {what} that cannot be shown: no mimeType, {len(decoded)} bytes]")
        else:
            mime = mime or "application/octet-stream"
            self.parts.append(f"[1 {what}, {mime}, {len(decoded)} bytes]")
            if kind == "file" and mime.startswith(("image/", "audio/")):
                kind = "image" if mime.startswith("image/") else "audio"
            self.media.append(Media(kind, mime, decoded, self._name(kind, mime, uri)))

    def _name(self, kind: MediaType, mime: str, uri: str | None) -> str:
        """Return a file name without a path, so that a server cannot choose where a file is saved."""
        path = re.split("[?#]", uri or "")[0]
        given = unquote(path).replace("\\", "/").rsplit("/", 1)[-1]
        safe = _UNSAFE_IN_NAME.sub("_", given).strip("._")[-80:]
        number = len(self.media) + 1
        return f"{number}-{safe}" if safe else f"{kind}-{number}{mimetypes.guess_extension(mime) or '.bin'}"

    def _embedded(self, block: Mapping[str, Any]) -> None:
        match block.get("resource"):
            case Mapping() as resource:
                self._resource(resource)
            case list() as resources:
                self.read([{"type": "resource", "resource": one} for one in resources])
            case _:
                self._other(block)

    def _resource(self, resource: Mapping[str, Any]) -> None:
        uri = _label(resource.get("uri")) or "(no address)"
        if isinstance(resource.get("text"), str) and (resource["text"] or resource.get("blob") is None):
            self.parts.append(f"[resource {uri}]")
            self._text(resource["text"])
        elif resource.get("blob") is not None:
            self._media("file", resource["blob"], resource.get("mimeType"), uri)
        else:
            self.parts.append(f"[resource {uri} without content]")

    def _link(self, block: Mapping[str, Any]) -> None:
        uri = _label(block.get("uri"))
        labels = [_label(block.get(key)) for key in ("name", "title", "description", "mimeType")]
        head = f"link to {uri}" if uri else "link"
        self.parts.append(f"[{'; '.join([head, *filter(None, labels)])}]")


def _label(value: object) -> str:
    return truncate(clean_label(value), _LABEL_CHARS) if isinstance(value, str) else ""


def _mime(value: object) -> str | None:
    match = _MIME.match(value.strip()) if isinstance(value, str) else None
    return match.group().lower() if match else None


def _decode(data: object) -> tuple[bytes | None, str | None]:
    """Return the bytes of base64 text, and the MIME type if it is a `data:` URL; each None if there is none."""
    if not isinstance(data, str) or not data.strip():
        return None, None
    own_type = None
    if head := _DATA_URL.match(data[:200]):
        own_type, data = _mime(head.group(1)), data[head.end() :]
    compact = "".join(data.split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True), own_type
    except (binascii.Error, ValueError):
        return None, own_type
