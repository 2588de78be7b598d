"""Rebuild a root with alternatives as one plain object: model APIs refuse combinators there.

Works on a schema that `clean` has produced. The object accepts at least what the alternatives accept; the
server still validates the arguments itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from .keywords import listed_values
from .refs import follow_pointer

MAX_PARTS: Final = 1000
"""Schemas merged into one root: definitions that name each other twice would double at every level."""

_GONE: Final = frozenset(
    {
        "type", "properties", "required", "$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
        "dependentSchemas", "enum", "const", "nullable",
    }
)  # fmt: skip
_ANNOTATIONS: Final = frozenset({"title", "description", "default", "examples", "$comment", "deprecated"})
_CONTEXTUAL: Final = frozenset(
    {"additionalProperties", "unevaluatedProperties", "unevaluatedItems", "items", "if", "then", "else",
     "contains", "minContains", "maxContains"}
)  # fmt: skip
"""Keywords whose meaning depends on their neighbours: two schemas with one of them cannot be laid together."""


@dataclass
class _Object:
    """What one schema requires of an object."""

    properties: dict[str, Any] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    rest: dict[str, Any] = field(default_factory=dict)


def merge_object(
    root: dict[str, Any], warn: Callable[[str], None], document: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return `root` as `{type: object, properties, ...}` without a combinator beside them.

    References are looked up in `document`, by default `root` itself.
    """
    found = _Merger(root if document is None else document, warn).flatten(root, ())
    if found is None:
        warn("does not accept an object, shown without parameters")
        nothing: dict[str, Any] = {"type": "object", "properties": {}}
        kept = ("title", "description", "$defs", "definitions")
        return {**nothing, **{key: root[key] for key in kept if key in root}}
    if unknown := [name for name in found.required if name not in found.properties]:
        warn(f"required contains the unknown name {unknown[0]!r}")
    required = [name for name in found.required if name in found.properties]
    merged: dict[str, Any] = {"type": "object", "properties": found.properties}
    if required or root.get("required") == []:
        merged["required"] = required
    merged.update(found.rest)
    if not isinstance(merged.get("default", {}), dict):
        del merged["default"]
    return merged


class _Merger:
    def __init__(self, root: dict[str, Any], warn: Callable[[str], None]) -> None:
        self._root = root
        self._warn = warn
        self._parts = 0

    def flatten(self, schema: dict[str, Any], inside: tuple[int, ...]) -> _Object | None:
        """Return what `schema` requires of an object, None if it does not accept one."""
        self._parts += 1
        if schema.get("type", "object") != "object" or schema == {"not": {}}:
            return None
        if id(schema) in inside or self._parts > MAX_PARTS:
            self._warn("too many alternatives, not all are shown")
            return _Object()
        inside = (*inside, id(schema))
        whole = _Object(
            dict(schema.get("properties", {})),
            list(schema.get("required", [])),
            {key: value for key, value in schema.items() if key not in _GONE},
        )
        for found in self._objects(self._unconditional(schema), inside):
            self._join(whole, found)
        for key in ("anyOf", "oneOf"):
            if branches := schema.get(key):
                options = self._objects(branches, inside)
                if not options:
                    return None
                self._join(whole, _either(options))
        for found in self._conditional(schema, inside):
            self._join(whole, found)
        return whole

    def _objects(self, schemas: Iterable[dict[str, Any]], inside: tuple[int, ...]) -> list[_Object]:
        """Flatten those of the schemas that accept an object."""
        return [found for schema in schemas if (found := self.flatten(schema, inside)) is not None]

    def _unconditional(self, schema: dict[str, Any]) -> list[dict[str, Any]]:
        target = resolve(self._root, schema.get("$ref"))
        return [*([target] if target is not None else []), *schema.get("allOf", ())]

    def _conditional(self, schema: dict[str, Any], inside: tuple[int, ...]) -> list[_Object]:
        cases = [self.flatten(schema[key], inside) for key in ("then", "else") if key in schema]
        kept = [case for case in cases if case is not None] if "if" in schema else []
        found = [_either(kept if len(cases) == 2 else [*kept, _Object()])] if kept else []
        dependent = self._objects(schema.get("dependentSchemas", {}).values(), inside)
        found += [_either([case, _Object()]) for case in dependent]
        # A property that only the condition names exists, but the condition does not restrict it.
        tested = schema.get("if", {}).get("properties", {})
        return [*found, _Object({name: {} for name in tested})]

    def _join(self, whole: _Object, part: _Object) -> None:
        if part.properties and part.properties.keys() - whole.properties.keys():
            whole.rest.pop("unevaluatedProperties", None)
        for name, schema in part.properties.items():
            known = whole.properties.get(name)
            whole.properties[name] = schema if known is None else _both(known, schema)
        whole.required = list(dict.fromkeys([*whole.required, *part.required]))
        patterns = {**part.rest.get("patternProperties", {}), **whole.rest.get("patternProperties", {})}
        closed = part.rest.get("additionalProperties") is False
        whole.rest = {**part.rest, **whole.rest}
        if patterns:
            whole.rest["patternProperties"] = patterns
        if closed:
            whole.rest["additionalProperties"] = False


def _either(options: list[_Object]) -> _Object:
    """Return what is required whichever of the options applies."""
    choices: dict[str, list[Any]] = {}
    for option in options:
        for name, schema in option.properties.items():
            known = choices.setdefault(name, [])
            if schema not in known:
                known.append(schema)
    properties = {name: _one_of(schemas) for name, schemas in choices.items()}
    required = [name for name in options[0].required if all(name in other.required for other in options)]
    closed = all(
        option.rest.get("additionalProperties") is False and "patternProperties" not in option.rest
        for option in options
    )
    return _Object(properties, required, {"additionalProperties": False} if closed else {})


def _one_of(schemas: list[Any]) -> Any:
    if len(schemas) == 1:
        return schemas[0]
    anything = next((schema for schema in schemas if not schema.keys() - _ANNOTATIONS), None)
    if anything is not None:
        return anything
    return _merged_enum(schemas) or {"anyOf": schemas}


def _merged_enum(schemas: list[Any]) -> dict[str, Any] | None:
    """Return one `enum` for schemas that only list values of one type, None for others."""
    kinds = {schema.get("type") for schema in schemas}
    if len(kinds) != 1 or not all(schema.keys() <= {"type", "const", "enum"} for schema in schemas):
        return None
    merged: list[Any] = []
    for schema in schemas:
        if "const" not in schema and "enum" not in schema:
            return None
        for value in listed_values(schema):
            if not any(_same(value, other) for other in merged):
                merged.append(value)
    kind = kinds.pop()
    return {"type": kind, "enum": merged} if kind else {"enum": merged}


def _same(left: object, right: object) -> bool:
    return type(left) is type(right) and left == right


def _both(known: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that requires both: one plain schema if they do not contradict each other."""
    demands = {key: value for key, value in other.items() if key not in _ANNOTATIONS}
    shared = [key for key in demands if key in known]
    if all(known[key] == demands[key] for key in shared):
        if len(shared) == len(demands) or not _CONTEXTUAL & (known.keys() | demands.keys()):
            return {**other, **known}
    elif "enum" in known or "const" in known:
        return known  # the base lists all values, a branch only its own
    return {"allOf": [known, other]}


def resolve(root: dict[str, Any], ref: object) -> dict[str, Any] | None:
    """Return the definition that a reference of a clean document names, None if there is none."""
    if not isinstance(ref, str):
        return None
    found = follow_pointer(root, ref)
    return found if isinstance(found, dict) else None
