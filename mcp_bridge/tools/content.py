"""Content blocks as servers write them -> as the protocol has them.

Servers that were made for another API, or by hand, send pictures in the shapes of OpenAI or Anthropic, resources
without their inner object, PHP's numbered objects for lists, and results that repeat their blocks as structured
content. Pure: values in, values out; nothing is fetched or decoded.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..text.json_values import MAX_DEPTH

KINDS = ("text", "image", "audio", "resource", "resource_link")
"""The types of block of the protocol (schema 2025-11-25, `ContentBlock`)."""
BASE64_CHARS = 1000
"""From this length on, base64 in structured content is no text for a model."""
_BASE64 = re.compile(
    r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])(?=[^+/=_-]*[+/=_-])"
    r"(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+|(?:[A-Za-z0-9+/]{60,}\r?\n)+[A-Za-z0-9+/]*)={0,2}\s*"
    r"|data:[^,]{0,200};base64,.*",
    re.DOTALL,
)
_BLOCK_KEYS = frozenset(
    "type text data mimeType uri name title description size resource icons annotations _meta meta".split()
)
"""What blocks of the protocol have; Python's frameworks write `meta` for `_meta`."""
_TOLD_LEAVES = 2000
"""How many values of structured content are looked for in the text beside it."""
_TOLD_CHARS = 100_000
"""A text longer than this is taken to say everything: a model is shown less than that of it."""
_WORD = re.compile(r"[A-Za-z0-9]+")
_SHORT_WORD = 8
"""A word of so few letters stands in a text by chance, as part of another, so it must stand there by itself."""


def numbered(value: Any) -> Any:
    """Return the list that an object with the keys "0", "1", ... stands for; anything else as it is."""
    if isinstance(value, Mapping) and value and all(isinstance(key, str) and key.isdecimal() for key in value):
        return [value[key] for key in sorted(value, key=int)]
    return value


def standard_block(block: Any) -> Any:
    """Return a block in the protocol's form if it is a known variant of one, else as it is."""
    if not isinstance(block, Mapping):
        return block
    kind = block.get("type")
    kind = kind.lower() if isinstance(kind, str) else kind
    match kind:
        case "image" | "audio":
            return _media(kind, block)
        case "image_url" | "input_image":
            return _picture(block.get("image_url", block.get("url")))
        case "resource" if "resource" not in block and ("text" in block or "blob" in block):
            return {"type": "resource", "resource": block}
        case "resource" if "resource" not in block and isinstance(block.get("uri"), str):
            return {**block, "type": "resource_link"}
        case "text" if block.get("text") is None:
            words = next((block[key] for key in ("content", "value") if isinstance(block.get(key), str)), None)
            return {**block, "type": kind, "text": words}
        case None if isinstance(block.get("data"), str) and isinstance(block.get("mimeType"), str):
            return {**block, "type": "audio" if block["mimeType"].startswith("audio/") else "image"}
        case str() if kind in KINDS:
            return {**block, "type": kind}
        case _:
            return block


def repeated_blocks(structured: Any) -> list[Any] | None:
    """Return the blocks that structured content is made of, None if it is something else.

    Frameworks fill it from the type of a tool's function, also where that returns blocks.
    """
    inner = structured
    if isinstance(structured, Mapping) and len(structured) == 1:
        inner = next(iter(structured.values()))
    blocks = inner if isinstance(inner, list) else [inner]
    whole = all(isinstance(one, Mapping) and one.get("type") in KINDS and _holds(one) for one in blocks)
    return blocks if blocks and whole else None


def is_told(structured: Any, text: str) -> bool:
    """Tell whether a text says what structured content holds: all but one in ten of its words and numbers.

    Servers should put all of it into the text, too (specification, "Structured Content"); some say only
    how much there is.
    """
    if len(text) > _TOLD_CHARS:
        return True
    leaves = list(itertools.islice(_leaves(structured), _TOLD_LEAVES))
    words = frozenset(_WORD.findall(text))
    untold = (leaf for leaf in leaves if not _says(text, words, leaf))
    return len(list(itertools.islice(untold, len(leaves) // 10 + 1))) <= len(leaves) // 10


def _says(text: str, words: frozenset[str], leaf: str) -> bool:
    """Tell whether a text says a word or number, plain or in any spelling of JSON; `words` are those of the text."""
    if len(leaf) <= _SHORT_WORD and _WORD.fullmatch(leaf):
        return leaf in words
    if leaf in text:
        return True
    spelt = {json.dumps(leaf, ensure_ascii=False)[1:-1], json.dumps(leaf)[1:-1]}
    spelt |= {one.replace("/", "\\/") for one in spelt}  # as PHP writes it
    return any(one in text for one in spelt - {leaf})


def without_base64(value: Any) -> Any:
    """Return a copy of a JSON value with a note in the place of each long text in base64."""
    match value:
        case str() if len(value) >= BASE64_CHARS and _BASE64.fullmatch(value):
            return f"[{len(value)} characters of base64 not shown]"
        case Mapping():
            return {key: without_base64(one) for key, one in value.items()}
        case list():
            return [without_base64(one) for one in value]
        case _:
            return value


def _holds(block: Mapping[str, Any]) -> bool:
    """Tell whether a block holds what its type says, and nothing that blocks do not have.

    Data of some tool may have a `type` of the same word, and more beside it than a block would show.
    """
    key = {"image": "data", "audio": "data", "resource": "resource", "resource_link": "uri"}.get(block["type"], "text")
    if key == "resource" and not (isinstance(block.get(key), Mapping) and isinstance(block[key].get("uri"), str)):
        return False
    if key == "data" and not isinstance(block.get("mimeType"), str):
        return False
    return key in block and block.keys() <= _BLOCK_KEYS


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


def _media(kind: str, block: Mapping[str, Any]) -> dict[str, Any]:
    source = block.get("source")
    source = source if isinstance(source, Mapping) else {}
    types = [holder.get(key) for holder in (block, source) for key in ("mimeType", "mime_type", "media_type")]
    data = block.get("data", source.get("data"))
    if isinstance(data, str) and data.startswith(("http://", "https://")):
        return _picture(data) if kind == "image" else {"type": "resource_link", "uri": data}
    if data is None and isinstance(address := block.get("url", source.get("url")), str):
        return _picture(address) if kind == "image" else {"type": "resource_link", "uri": address}
    return {"type": kind, "data": data, "mimeType": next((one for one in types if isinstance(one, str)), None)}


def _picture(holder: Any) -> dict[str, Any]:
    """Return the block of a picture given by its address, which may hold it."""
    address = holder.get("url") if isinstance(holder, Mapping) else holder
    if isinstance(address, str) and not address.startswith("data:"):
        return {"type": "resource_link", "uri": address, "name": "image"}
    return {"type": "image", "data": address}
