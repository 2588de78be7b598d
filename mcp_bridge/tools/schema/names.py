"""Give every parameter a name that model APIs accept, and map it back to the server's name."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...text.cleaning import clean_label, truncate
from ...text.json_values import DROPPED, MAX_DEPTH
from .convert import convert
from .keywords import IN_PLACE_LISTS, IN_PLACE_SINGLES, map_subschemas, subschemas
from .merge import resolve
from .notes import with_notes

_LEGAL: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""The property names that OpenAI and Anthropic accept."""

_MAX_PLACES: Final = 200
"""Alternative schemas considered for one value when names are mapped back."""


def assign(names: Iterable[str]) -> dict[str, str]:
    """Return {original: shown} for the names that model APIs refuse.

    The result does not depend on the order of the names.
    """
    wanted = sorted(set(names))
    legal = {name for name in wanted if _LEGAL.fullmatch(name)}
    stems = {name: re.sub(r"[^A-Za-z0-9_.-]", "_", name) for name in wanted if name not in legal}
    taken = set(legal)
    shared = Counter(stems.values())
    taken.update(stems.values())
    shown: dict[str, str] = {}
    for name, stem in stems.items():
        if len(stem) <= 64 and shared[stem] == 1 and stem not in legal and re.search("[A-Za-z0-9]", stem):
            shown[name] = stem
            continue
        digest = hashlib.sha256(name.encode("utf-8")).hexdigest()
        start = stem[:48] if re.search("[A-Za-z0-9]", stem[:48]) else "p"
        shown[name] = next(c for n in range(6, 16) if (c := f"{start}_{digest[:n]}") not in taken)
        taken.add(shown[name])
    return shown


def property_names(schema: dict[str, Any]) -> set[str]:
    """Return all property names of a clean document, at every depth."""
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        found.update(node.get("properties", {}))
        waiting.extend(subschemas(node))
    return found


def rename(node: Any, shown: Mapping[str, str], limit: int) -> Any:
    """Return a copy of a clean schema with the names replaced, and the original ones in the descriptions."""
    copied = map_subschemas(node, lambda schema: rename(schema, shown, limit))
    if "properties" in copied:
        copied["properties"] = {
            shown.get(name, name): _with_original(name, schema, limit) if name in shown else schema
            for name, schema in copied["properties"].items()
        }
    if "required" in copied:
        copied["required"] = [shown.get(name, name) for name in copied["required"]]
    if "dependentRequired" in copied:
        copied["dependentRequired"] = {
            shown.get(name, name): [shown.get(other, other) for other in others]
            for name, others in copied["dependentRequired"].items()
        }
    if "dependentSchemas" in copied:
        copied["dependentSchemas"] = {shown.get(n, n): s for n, s in copied["dependentSchemas"].items()}
    return copied


def _with_original(name: str, schema: dict[str, Any], limit: int) -> dict[str, Any]:
    note = f"original name: {truncate(clean_label(name), 100)}"
    return {**schema, "description": with_notes(schema.get("description", ""), [note], limit)}


def restore(arguments: Mapping[str, Any], schema: dict[str, Any], original: Mapping[str, str]) -> dict[str, Any]:
    """Return a deep copy of the arguments with the server's names.

    Only keys that the schema declares as properties are renamed, never other keys of an object.
    """
    restored = _Restorer(schema, original).value(arguments, [schema], MAX_DEPTH)
    return restored if isinstance(restored, dict) else {}


class _Restorer:
    def __init__(self, root: dict[str, Any], original: Mapping[str, str]) -> None:
        self._root = root
        self._original = original

    def value(self, value: object, schemas: list[Any], depth: int) -> Any:
        if depth <= 0:
            return value
        places = self._places(schemas) if isinstance(value, (Mapping, list, str)) else []
        if isinstance(value, str):
            value = _read(value, places)
        if isinstance(value, Mapping):
            return {
                self._name(key, places): self.value(member, _for_key(key, places), depth - 1)
                for key, member in value.items()
            }
        if isinstance(value, list):
            return [self.value(member, _for_item(i, places), depth - 1) for i, member in enumerate(value)]
        return value

    def _name(self, key: Any, places: list[dict[str, Any]]) -> Any:
        declared = any(key in place.get("properties", {}) for place in places)
        return self._original.get(key, key) if declared else key

    def _places(self, schemas: list[Any]) -> list[dict[str, Any]]:
        """Return the schemas and all others that they apply to the same value."""
        found: dict[int, dict[str, Any]] = {}
        waiting = list(schemas)
        while waiting and len(found) < _MAX_PLACES:
            schema = waiting.pop()
            if not isinstance(schema, dict) or id(schema) in found:
                continue
            found[id(schema)] = schema
            waiting.append(resolve(self._root, schema.get("$ref")))
            for key in IN_PLACE_LISTS:
                waiting.extend(schema.get(key, ()))
            waiting.extend(schema.get(key) for key in IN_PLACE_SINGLES)
            waiting.extend(schema.get("dependentSchemas", {}).values())
        return list(found.values())


def _read(text: str, places: list[dict[str, Any]]) -> Any:
    """Decode JSON text of an object or array where the schemas do not allow a string; else return the text."""
    kinds = {place["type"] for place in places if isinstance(place.get("type"), str)}
    if "string" not in kinds and not any("enum" in place for place in places):
        for kind in kinds & {"object", "array"}:
            if (decoded := convert(text, kind)) is not DROPPED:
                return decoded
    return text


def _for_key(key: Any, places: list[dict[str, Any]]) -> list[Any]:
    declared = [place["properties"][key] for place in places if key in place.get("properties", {})]
    if declared:
        return declared
    free: list[Any] = [place.get("additionalProperties") for place in places]
    for place in places:
        free.extend(place.get("patternProperties", {}).values())
    return free


def _for_item(index: int, places: list[dict[str, Any]]) -> list[Any]:
    found: list[Any] = []
    for place in places:
        prefix = place.get("prefixItems", [])
        found.append(prefix[index] if index < len(prefix) else place.get("items"))
    return found
