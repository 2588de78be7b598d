"""Content blocks as servers write them -> as the protocol has them.

Servers that were made for another API, or by hand, send pictures in the shapes of OpenAI or Anthropic, resources
without their inner object, PHP's numbered objects for lists, and results that repeat their blocks as structured
content. Pure: values in, values out; nothing is fetched or decoded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

KINDS = ("text", "image", "audio", "resource", "resource_link")
"""The types of block of the protocol (schema 2025-11-25, `ContentBlock`)."""
BASE64_CHARS = 1000
"""From this length on, base64 in structured content is no text for a model."""
_BASE64 = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])(?=.*[+/=])[A-Za-z0-9+/]+={0,2}|data:[^,]{0,200};base64,.*")


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
    """Tell whether a block holds what its type says; data of some tool may have a `type` of the same word."""
    key = {"image": "data", "audio": "data", "resource": "resource", "resource_link": "uri"}.get(block["type"], "text")
    return key in block


def _media(kind: str, block: Mapping[str, Any]) -> dict[str, Any]:
    source = block.get("source")
    source = source if isinstance(source, Mapping) else {}
    types = [holder.get(key) for holder in (block, source) for key in ("mimeType", "mime_type", "media_type")]
    data = block.get("data", source.get("data"))
    if data is None and isinstance(address := block.get("url", source.get("url")), str):
        return _picture(address) if kind == "image" else {"type": "resource_link", "uri": address}
    return {"type": kind, "data": data, "mimeType": next((one for one in types if isinstance(one, str)), None)}


def _picture(holder: Any) -> dict[str, Any]:
    """Return the block of a picture given by its address, which may hold it."""
    address = holder.get("url") if isinstance(holder, Mapping) else holder
    if isinstance(address, str) and not address.startswith("data:"):
        return {"type": "resource_link", "uri": address, "name": "image"}
    return {"type": "image", "data": address}
