"""What every model API asks of a schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from jsonschema import Draft202012Validator

from mcp_bridge.tools.schema.shown import show

EMPTY = {"type": "object", "properties": {}}
TYPES = {"string", "integer", "number", "boolean", "object", "array", "null"}


def shown(schema: object, **options: Any) -> dict[str, Any]:
    result = show(schema, **options)
    assert_sendable(result.schema)
    return result.schema


def assert_sendable(schema: dict[str, Any]) -> None:
    """Assert what every model API asks of a schema."""
    json.dumps(schema, allow_nan=False).encode("utf-8")
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert isinstance(schema["properties"], dict)
    assert not {"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const", "$ref"} & schema.keys()
    assert set(schema.get("required", [])) <= schema["properties"].keys()
    for node in schemas_in(schema):
        assert "type" not in node or node["type"] in TYPES
        assert node.get("type") != "array" or isinstance(node["items"], dict)
        assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) for name in node.get("properties", {}))
        if "$ref" in node:
            assert isinstance(follow(schema, node["$ref"]), dict)


def schemas_in(node: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(node, dict):
        return
    yield node
    for key, value in node.items():
        if key in ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas"):
            for inner in value.values():
                yield from schemas_in(inner)
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for inner in value:
                yield from schemas_in(inner)
        elif key in (
            "items",
            "not",
            "if",
            "then",
            "else",
            "contains",
            "additionalProperties",
            "propertyNames",
            "unevaluatedItems",
            "unevaluatedProperties",
            "contentSchema",
        ):
            yield from schemas_in(value)


def follow(root: Any, ref: str) -> Any:
    assert ref.startswith("#/")
    for token in unquote(ref[2:]).split("/"):
        root = root[token.replace("~1", "/").replace("~0", "~")]
    return root
