"""How much of a model's prompt its tools take up."""

from __future__ import annotations

import json
import math

from ..tools.tool import Tool

_ASCII_CHARS_PER_TOKEN = 4
"""English and JSON; other scripts take about a token for each character (an estimate: models differ)."""


def estimate_tokens(tool: Tool) -> int:
    """Return about how many tokens the definition of a tool costs in every prompt that shows it."""
    definition = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    text = json.dumps(definition, ensure_ascii=False, separators=(",", ":"))
    plain = sum(character.isascii() for character in text)
    return math.ceil(plain / _ASCII_CHARS_PER_TOKEN) + len(text) - plain
