"""Turn a server's input schema into one that model APIs accept, and map the arguments back.

Model APIs accept less than JSON Schema allows: the root must be `{type: object, properties}` without
combinators, a type must be one known word, and every reference must resolve. One tool that breaks this makes
the API refuse the whole request, and with it every other tool.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ...text.json_values import JsonCopier
from .clean import Cleaner, TooLarge
from .merge import merge_object
from .names import assign, property_names, rename, restore
from .strict import strict

Profile = Literal["default", "strict"]

MAX_JSON_CHARS: Final = 200_000
"""JSON text of one shown schema: about fifty thousand tokens, more than a context has room for."""

DEPTHS: Final = (32, 16, 8, 4, 2, 1)
"""Levels of schemas shown: these depths are tried in turn until the result is within the limits."""

MAX_PROPERTIES: Final = 1000
"""Top-level parameters shown; a tool with more, or one too large at every depth, is shown with names only."""


class UnusableSchema(ValueError):
    """The schema is `false`: no arguments are valid."""


@dataclass(frozen=True)
class ShownSchema:
    """A schema as a model is shown it; `warnings` tell the owner how it differs from the server's."""

    schema: dict[str, Any]
    warnings: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict, repr=False)
    """{shown name: server's name} of the parameters that had to be renamed."""

    def restore(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return a copy of the arguments with the server's parameter names, at every depth."""
        return restore(arguments, self.schema, self.names) if self.names else dict(arguments)


def show(schema: object, *, profile: Profile = "default", max_description_chars: int = 1024) -> ShownSchema:
    """Return the part of `schema`, which may be any value, that model APIs accept; raises only UnusableSchema.

    Descriptions and titles are cut to `max_description_chars` characters.
    """
    if schema is False:
        raise UnusableSchema("the input schema is false: no arguments are valid")
    warnings: dict[str, None] = {}
    if not isinstance(schema, Mapping):
        if schema is not None and schema is not True:
            warnings["root: not a schema, shown without parameters"] = None
        schema = {}
    copier = JsonCopier()
    plain = copier.copy(schema)
    if copier.cut:
        warnings["root: too large or too deep, not read to the end"] = None
    shown, more = _within_limits(plain, profile, max_description_chars)
    warnings.update(more)
    renamed = assign(property_names(shown))
    if renamed:
        shown = rename(shown, renamed, max_description_chars)
    own_copy = json.loads(json.dumps(shown, allow_nan=False))  # no part is shared: merging uses some twice
    return ShownSchema(own_copy, tuple(warnings), {new: old for old, new in renamed.items()})


def _within_limits(plain: dict[str, Any], profile: Profile, max_text: int) -> tuple[dict[str, Any], dict[str, None]]:
    """Return the schema at the first depth within the limits, and the warnings of that attempt."""
    warnings: dict[str, None] = {}
    properties = plain.get("properties")
    names = [name for name in properties if len(name) <= 64] if isinstance(properties, dict) else []
    for depth in DEPTHS if len(names) <= MAX_PROPERTIES else ():
        try:
            shown, warnings = _at_depth(plain, profile, depth, max_text)
        except TooLarge:
            continue
        if len(json.dumps(shown)) <= MAX_JSON_CHARS:
            return shown, warnings
    warnings["root: too large, shown with names only"] = None
    return {"type": "object", "properties": {name: {} for name in names[:MAX_PROPERTIES]}}, warnings


def _at_depth(
    plain: dict[str, Any], profile: Profile, depth: int, max_text: int
) -> tuple[dict[str, Any], dict[str, None]]:
    cleaner = Cleaner(plain, max_depth=depth, max_text=max_text)
    clean = cleaner.document()

    def warn(what: str) -> None:
        cleaner.warnings[f"root: {what}"] = None

    shown = merge_object(clean, warn)
    if profile == "strict":
        shown = strict(shown, max_depth=depth, max_text=max_text, warn=warn)
    elif "2020-12" not in shown.get("$schema", "2020-12") and '"prefixItems"' in json.dumps(shown):
        del shown["$schema"]  # in older drafts `items` beside it has another meaning
    return shown, cleaner.warnings


def rename_parameters(schema: dict[str, Any], reserved: Collection[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Append an underscore, or more if that is taken, to parameters whose names a host reserves.

    Return a copy of the shown schema, and {new name: old name} of the renamed parameters.
    """
    properties: dict[str, Any] = schema.get("properties", {})
    taken = {*properties, *reserved}
    new_names: dict[str, str] = {}
    for name in properties:
        if name in reserved:
            new, tail = f"{name[:63]}_", "_"
            while new in taken:
                tail += "_"
                new = name[: 64 - len(tail)] + tail
            taken.add(new)
            new_names[name] = new
    copied: dict[str, Any] = json.loads(json.dumps(schema))
    copied["properties"] = {new_names.get(n, n): s for n, s in copied.get("properties", {}).items()}
    if "required" in copied:
        copied["required"] = [new_names.get(name, name) for name in copied["required"]]
    if "dependentRequired" in copied:
        copied["dependentRequired"] = {
            new_names.get(name, name): [new_names.get(other, other) for other in others]
            for name, others in copied["dependentRequired"].items()
        }
    return copied, {new: old for old, new in new_names.items()}
