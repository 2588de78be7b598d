"""Tell whether a value fits a schema, leniently: every valid value fits; limits and patterns are not checked.

A server's schema may be malformed or endless; in doubt the value fits. The library `jsonschema` is not used:
it raises on malformed and on endless schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...text.json_values import json_type, same_json
from ..schema.keywords import type_words
from ..schema.refs import References
from .listed import Listed

MAX_STEPS: Final = 100_000
"""Schemas applied to the values of one call; mutually recursive definitions would go on for ever.

A table of 1,000 rows needs 30,000; the whole limit takes a quarter of a second.
"""


class OutOfSteps(Exception):
    """The arguments of this call take too long to check."""


class Checker:
    """Check values against schemas of one raw document, within a number of steps."""

    def __init__(self, document: object) -> None:
        self._references = References(document)
        self._steps = 0
        self._listed: dict[int, Listed] = {}

    def step(self) -> None:
        """Count one schema applied to one value; raises OutOfSteps."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise OutOfSteps

    def listed(self, schema: Mapping[str, Any]) -> Listed | None:
        """Return the values that a schema lists in its `enum`, else that of its `const`; None if it has neither."""
        values = schema.get("enum")
        if not isinstance(values, list):
            return Listed([schema["const"]]) if "const" in schema else None
        if id(values) not in self._listed:
            self._listed[id(values)] = Listed(values)
        return self._listed[id(values)]

    def always(self, schema: Mapping[str, Any]) -> list[Any]:
        """Return the schemas that apply wherever this one does: its reference, and its `allOf`."""
        parts = [self._references.resolve(schema["$ref"], schema)] if "$ref" in schema else []
        listed = schema.get("allOf")
        return [*parts, *(listed if isinstance(listed, list) else ())]

    def required(self, schema: Mapping[str, Any], depth: int = 5) -> frozenset[str]:
        """Return the names that a schema requires, itself or through its references and `allOf`."""
        self.step()
        listed = schema.get("required")
        names = frozenset(n for n in (listed if isinstance(listed, list) else ()) if isinstance(n, str))
        if depth > 0:
            for part in self.always(schema):
                if isinstance(part, Mapping):
                    names |= self.required(part, depth - 1)
        return names

    def item_schemas(self, schema: Mapping[str, Any]) -> tuple[list[Any], object]:
        """Return the schemas of the first items by position, and the schema of all others."""
        prefix, items = schema.get("prefixItems"), schema.get("items")
        if isinstance(items, list):  # the tuple form up to draft 2019-09
            return items, schema.get("additionalItems")
        return (prefix if isinstance(prefix, list) else []), items

    def is_specific(self, schema: object) -> bool:
        """Tell whether a schema states a type or values, so that not every value fits it."""
        if not isinstance(schema, Mapping):
            return False
        return bool(type_words(schema.get("type"))) or any(
            key in schema for key in ("$ref", "enum", "const", "anyOf", "oneOf", "allOf")
        )

    def only_null(self, schema: object) -> bool:
        """Tell whether a schema allows null and nothing else."""
        return isinstance(schema, Mapping) and (
            type_words(schema.get("type")) == ["null"]
            or ("const" in schema and schema["const"] is None)
            or schema.get("enum") == [None]
        )

    def fits(self, value: Any, schema: object, depth: int) -> bool:
        """Tell whether a value fits a schema; raises OutOfSteps."""
        self.step()
        if schema is False:
            return False
        if not isinstance(schema, Mapping) or depth <= 0:
            return True
        if value is None and schema.get("nullable") is True:
            return True
        return (
            self._is_of_type(value, schema)
            and self._is_listed(value, schema)
            and all(self.fits(value, part, depth - 1) for part in self.always(schema))
            and self._fits_one(value, schema, depth)
            and self._members_fit(value, schema, depth)
        )

    def _is_of_type(self, value: Any, schema: Mapping[str, Any]) -> bool:
        types, kind = type_words(schema.get("type")), json_type(value)
        return not types or kind in types or (kind == "integer" and "number" in types)

    def _is_listed(self, value: Any, schema: Mapping[str, Any]) -> bool:
        if "const" in schema and not same_json(value, schema["const"]):
            return False
        listed = self.listed(schema) if isinstance(schema.get("enum"), list) else None
        return listed is None or value in listed

    def _fits_one(self, value: Any, schema: Mapping[str, Any], depth: int) -> bool:
        for key in ("anyOf", "oneOf"):
            branches = schema.get(key)
            if not isinstance(branches, list) or not branches:
                continue
            if not any(self.fits(value, branch, depth - 1) for branch in branches):
                return False
        return True

    def _members_fit(self, value: Any, schema: Mapping[str, Any], depth: int) -> bool:
        if isinstance(value, list):
            prefix, items = self.item_schemas(schema)
            return all(
                self.fits(member, prefix[i] if i < len(prefix) else items, depth - 1) for i, member in enumerate(value)
            )
        if not isinstance(value, Mapping):
            return True
        listed, declared = schema.get("required"), schema.get("properties")
        if isinstance(listed, list) and any(isinstance(n, str) and n not in value for n in listed):
            return False
        properties: Mapping[str, Any] = declared if isinstance(declared, Mapping) else {}
        others = None if "patternProperties" in schema else schema.get("additionalProperties")
        return all(self.fits(member, properties.get(name, others), depth - 1) for name, member in value.items())
