"""Normalise the content blocks of a tool result to the protocol's form.

Servers written for another API, or by hand, send pictures in the shapes of OpenAI or Anthropic, resources
without their inner object, PHP's numbered objects in place of lists, and results that repeat their blocks as
structured content. Pure: nothing is fetched or decoded.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, get_args

from .._typing import assert_never
from ..text.json_values import MAX_DEPTH

Kind = Literal["text", "image", "audio", "resource", "resource_link"]
"""The types of block of the protocol (schema 2025-11-25, `ContentBlock`)."""
_KINDS: Final[Mapping[str, Kind]] = {kind: kind for kind in get_args(Kind)}
BASE64_CHARS: Final = 1000
"""Base64 text of at least this length in structured content is not shown to a model."""
_BASE64 = re.compile(
    r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])(?=[^+/=_-]*[+/=_-])"
    r"(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+|(?:[A-Za-z0-9+/]{60,}\r?\n)+[A-Za-z0-9+/]*)={0,2}\s*"
    r"|data:[^,]{0,200};base64,.*",
    re.DOTALL,
)
_BLOCK_KEYS = frozenset(
    "type text data mimeType uri name title description size resource icons annotations _meta meta".split()
)
"""The keys of the protocol's blocks; Python frameworks write `meta` for `_meta`."""
_COMPARED_LEAVES = 2000
"""How many values of structured content are looked up in the text beside it."""
_COMPARED_CHARS = 100_000
"""Longer texts are assumed to contain the structured content; the model sees them truncated anyway."""
_WORD = re.compile(r"[A-Za-z0-9]+")
_SHORT_WORD = 8
"""Words of up to this many letters must stand alone in a text: inside a longer word they match by chance."""


def block_kind(block: object) -> Kind | None:
    """Return the kind of a block in the protocol's form, None if it is not one of the protocol's."""
    return _known_kind(block.get("type")) if isinstance(block, Mapping) else None


def numbered(value: Any) -> Any:
    """Return an object with the keys "0", "1", ... as a list; anything else unchanged."""
    if isinstance(value, Mapping) and value and all(isinstance(key, str) and key.isdecimal() for key in value):
        return [value[key] for key in sorted(value, key=int)]
    return value


def standard_block(block: Any) -> Any:
    """Return a block in the protocol's form if it is a known variant of one, else unchanged."""
    if not isinstance(block, Mapping):
        return block
    name = block.get("type")
    name = name.lower() if isinstance(name, str) else name
    kind = _known_kind(name)
    return _foreign_block(name, block) if kind is None else _protocol_block(kind, block)


def _known_kind(name: object) -> Kind | None:
    return _KINDS.get(name) if isinstance(name, str) else None


def _protocol_block(kind: Kind, block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Complete a block of a known kind whose members may be named as another API names them."""
    match kind:
        case "text":
            text = block.get("text")
            if text is None:
                text = next((block[key] for key in ("content", "value") if isinstance(block.get(key), str)), None)
            return {**block, "type": kind, "text": text}
        case "image" | "audio":
            return _media(kind, block)
        case "resource":
            return _resource(block)
        case "resource_link":
            return {**block, "type": kind}
        case _:
            return assert_never(kind)


def _foreign_block(name: object, block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Translate a block of another API, or one without a type."""
    if name in ("image_url", "input_image"):
        return _picture(block.get("image_url", block.get("url")))
    mime_type = block.get("mimeType")
    if name is None and isinstance(block.get("data"), str) and isinstance(mime_type, str):
        return {**block, "type": "audio" if mime_type.startswith("audio/") else "image"}
    return block


def _resource(block: Mapping[str, Any]) -> Mapping[str, Any]:
    if "resource" not in block:
        if "text" in block or "blob" in block:
            return {"type": "resource", "resource": block}
        if isinstance(block.get("uri"), str):
            return {**block, "type": "resource_link"}
    return {**block, "type": "resource"}


def _media(kind: Literal["image", "audio"], block: Mapping[str, Any]) -> dict[str, Any]:
    source = block.get("source")
    source = source if isinstance(source, Mapping) else {}
    data = block.get("data", source.get("data"))
    url = block.get("url", source.get("url"))
    address = data if isinstance(data, str) and data.startswith(("http://", "https://")) else None
    if data is None and isinstance(url, str):
        address = url
    if address is not None:
        return _picture(address) if kind == "image" else {"type": "resource_link", "uri": address}
    types = [holder.get(key) for holder in (block, source) for key in ("mimeType", "mime_type", "media_type")]
    return {"type": kind, "data": data, "mimeType": next((one for one in types if isinstance(one, str)), None)}


def _picture(holder: Any) -> dict[str, Any]:
    """Return the block of a picture that is given by its URL, which may be a `data:` URL."""
    address = holder.get("url") if isinstance(holder, Mapping) else holder
    if isinstance(address, str) and not address.startswith("data:"):
        return {"type": "resource_link", "uri": address, "name": "image"}
    return {"type": "image", "data": address}


def repeated_blocks(structured: Any) -> list[Any] | None:
    """Return the blocks that structured content consists of, None if it is something else.

    Frameworks fill it from the return type of a tool's function, even if that returns blocks.
    """
    inner = structured
    if isinstance(structured, Mapping) and len(structured) == 1:
        inner = next(iter(structured.values()))
    blocks = inner if isinstance(inner, list) else [inner]
    return blocks if blocks and all(map(_is_exact_block, blocks)) else None


def _is_exact_block(value: object) -> bool:
    """Tell whether a value is a complete block with no key that blocks do not have.

    The data of a tool may have a `type` of the same name, and members that a block would not show.
    """
    if not isinstance(value, Mapping) or not value.keys() <= _BLOCK_KEYS:
        return False
    kind = block_kind(value)
    match kind:
        case None:
            return False
        case "text":
            return "text" in value
        case "image" | "audio":
            return "data" in value and isinstance(value.get("mimeType"), str)
        case "resource":
            inner = value.get("resource")
            return isinstance(inner, Mapping) and isinstance(inner.get("uri"), str)
        case "resource_link":
            return "uri" in value
        case _:
            return assert_never(kind)


def text_covers(text: str, structured: Any) -> bool:
    """Tell whether a text contains at least nine in ten of the words and numbers of structured content.

    Servers should repeat structured content as text (specification, "Structured Content"); some texts only
    give its size.
    """
    if len(text) > _COMPARED_CHARS:
        return True
    leaves = list(itertools.islice(_leaves(structured), _COMPARED_LEAVES))
    words = frozenset(_WORD.findall(text))
    missing = (leaf for leaf in leaves if not _contains(text, words, leaf))
    allowed = len(leaves) // 10
    return len(list(itertools.islice(missing, allowed + 1))) <= allowed


def _contains(text: str, words: frozenset[str], leaf: str) -> bool:
    """Tell whether a text contains a word or number, plain or JSON-escaped; `words` are those of the text."""
    if len(leaf) <= _SHORT_WORD and _WORD.fullmatch(leaf):
        return leaf in words
    if leaf in text:
        return True
    escaped = {json.dumps(leaf, ensure_ascii=False)[1:-1], json.dumps(leaf)[1:-1]}
    escaped |= {one.replace("/", "\\/") for one in escaped}  # as PHP writes it
    return any(one in text for one in escaped - {leaf})


def without_base64(value: Any) -> Any:
    """Return a copy of a JSON value with a note in place of each long base64 text."""
    match value:
        case str() if len(value) >= BASE64_CHARS and _BASE64.fullmatch(value):
            return f"[{len(value)} characters of base64 not shown]"
        case Mapping():
            return {key: without_base64(one) for key, one in value.items()}
        case list():
            return [without_base64(one) for one in value]
        case _:
            return value


def _leaves(value: Any, depth: int = MAX_DEPTH) -> Iterator[str]:
    """Yield the words and numbers in a JSON value, as a text would show them."""
    match value if depth else None:
        case bool() | None:
            pass
        case str():
            if value.strip() and without_base64(value) is value:
                yield value.strip()
        case int() | float():
            yield str(int(value) if isinstance(value, float) and value.is_integer() else value)
        case Mapping():
            for one in value.values():
                yield from _leaves(one, depth - 1)
        case list() | tuple():
            for one in value:
                yield from _leaves(one, depth - 1)
