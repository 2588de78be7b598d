"""Rewrite the keywords of older JSON Schema drafts as those of draft 2020-12."""

from __future__ import annotations

from typing import Any

from . import values


def modernize(raw: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a schema in the keywords of draft 2020-12."""
    schema = dict(raw)
    _exclusive_bounds(schema)
    _positional_items(schema)
    _closed_items(schema)
    _dependencies(schema)
    return schema


def _exclusive_bounds(schema: dict[str, Any]) -> None:
    """Draft-04: a boolean beside the bound."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool):
            is_exclusive = schema.pop(exclusive)
            if is_exclusive and bound in schema:
                schema[exclusive] = schema.pop(bound)


def _positional_items(schema: dict[str, Any]) -> None:
    """Up to draft 2019-09: a list in `items`, with `additionalItems` for all items after it."""
    if isinstance(positional := schema.get("items"), list):
        del schema["items"]
        schema.setdefault("prefixItems", positional)
        if "additionalItems" in schema:
            schema["items"] = schema["additionalItems"]
    schema.pop("additionalItems", None)


def _closed_items(schema: dict[str, Any]) -> None:
    """`items: false` is valid, but model APIs want a schema there; `maxItems` means the same."""
    if schema.get("items") is False:
        schema["items"] = {}
        prefix = schema.get("prefixItems")
        length = len(prefix) if isinstance(prefix, list) else 0
        most = values.count(schema.get("maxItems"))
        schema["maxItems"] = min(most, length) if isinstance(most, int) else length


def _dependencies(schema: dict[str, Any]) -> None:
    """Up to draft-07: one keyword for lists of names and for schemas."""
    dependencies = schema.pop("dependencies", None)
    if not isinstance(dependencies, dict):
        return
    for key, kind in (("dependentRequired", list), ("dependentSchemas", (dict, bool))):
        found = {name: value for name, value in dependencies.items() if isinstance(value, kind)}
        if found and key not in schema:
            schema[key] = found
