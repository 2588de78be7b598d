"""Turn whatever a server calls a schema into well-formed JSON Schema draft 2020-12.

Every `$ref` of the result names a definition at its root, so that the root may be rebuilt afterwards.
"""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import quote, unquote

from ...text.cleaning import clean_label, truncate
from ...text.json_values import DROPPED, json_type
from . import values
from .keywords import BY_TYPE, LISTS, MAPS, REFERENCES, SINGLES, keywords_of, type_word, type_words
from .refs import References

MAX_NODES: Final = 20_000
"""Schemas in one result; a tool that needs more cannot be shown to a model anyway."""

_IDENTIFIERS: Final = frozenset({"$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"})
_LABELS: Final = ("title", "description", "$comment")
_RAW_CHARS: Final = 4
"""Characters read of a label for each one shown: cleaning megabytes would take seconds."""
_SHORT_REF: Final = re.compile(r"#/(\$defs|definitions)/([^/]+)")
_DIALECT: Final = re.compile(r"https?://json-schema\.org/draft(/2020-12|/2019-09|-07|-06)/schema#?")
_INNER: Final = frozenset({"enum", "const", "format", "anyOf"}).union(*BY_TYPE.values())
"""Keywords that go into the branches when a list of types becomes an `anyOf`; others stay beside it."""


class TooLarge(Exception):
    """The result passes MAX_NODES at this depth."""


class Cleaner:
    """Clean one document, which must be plain JSON, down to `max_depth` levels of schemas."""

    def __init__(self, root: dict[str, Any], *, max_depth: int, max_text: int) -> None:
        self.root = root
        self.max_depth = max_depth
        self.max_text = max_text
        self.warnings: dict[str, None] = {}
        self._refs = References(root)
        self._nodes = 0
        self._homes: dict[int, str] = {}
        self._taken: set[str] = set(root["$defs"]) if isinstance(root.get("$defs"), dict) else set()
        self._waiting: list[tuple[str, object]] = []
        self._moved: dict[str, Any] = {}

    def document(self) -> dict[str, Any]:
        """Return the clean root, with `$defs` and `definitions` holding all that is referred to."""
        defs: dict[str, Any] = {}
        for key in ("$defs", "definitions"):
            if isinstance(listed := self.root.get(key), dict):
                kept = {name: schema for name, schema in listed.items() if clean_label(name) == name}
                defs[key] = self._map(kept, key, self.max_depth)
        clean = self.node(self.root, "", self.max_depth)
        while self._waiting:
            name, target = self._waiting.pop()
            self._moved[name] = self._schema(target, name, self.max_depth) or {}
        if self._moved:
            defs["$defs"] = {**defs.get("$defs", {}), **self._moved}
        return {**clean, **{key: listed for key, listed in defs.items() if listed}}

    def node(self, raw: dict[str, Any], where: str, depth: int) -> dict[str, Any]:
        """Return the clean copy of one schema; raises TooLarge."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise TooLarge
        if depth <= 0:
            self._warn(where, "nested too deeply, shown without detail")
            word = type_word(raw.get("type"))
            return {"type": word, **({"items": {}} if word == "array" else {})} if word else {}
        holder, raw = raw, _modern(raw)
        clean: dict[str, Any] = {}
        for key, value in raw.items():
            if key in REFERENCES:
                if (ref := self._reference(value, holder, where)) is not None:
                    clean["$ref"] = ref
            elif (found := self._keyword(key, value, where, depth)) is not DROPPED:
                clean[key] = found
        self._required(raw, clean, where)
        self._notes(raw, clean)
        return _one_type(clean)

    def _keyword(self, key: str, value: object, where: str, depth: int) -> object:
        if key in values.CHECKS:
            if isinstance(value, str) and key in _LABELS:
                value = value[: _RAW_CHARS * self.max_text]
            found = values.CHECKS[key](value)
            if found is DROPPED and value is not None and key not in ("required", "default"):
                self._warn(where, f"malformed {key} dropped")
            is_label = isinstance(found, str) and key in _LABELS
            return truncate(str(found), self.max_text) if is_label else found
        if key in _IDENTIFIERS or key in ("$defs", "definitions"):
            return DROPPED  # references are rewritten, so that only the root's definitions are needed
        if key == "$schema":
            known = where == "" and isinstance(value, str) and _DIALECT.fullmatch(value)
            return value if known else DROPPED
        if key == "type":
            return self._types(value, where)
        if key in MAPS or key in LISTS or key in SINGLES:
            return self._subschemas(key, value, where, depth - 1)
        if clean_label(key) != key or values.data(value) is DROPPED:
            self._warn(where, f"unknown keyword {key} dropped")
            return DROPPED
        return values.label_data(value, self.max_text)

    def _types(self, value: object, where: str) -> object:
        words = value if isinstance(value, list) else [value]
        if unknown := [word for word in words if not type_word(word)]:
            self._warn(where, f"unknown type {str(unknown[0])[:40]!r} dropped")
        return type_words(value) or DROPPED

    def _subschemas(self, key: str, value: object, where: str, depth: int) -> object:
        if key in MAPS and isinstance(value, dict):
            return self._map(value, f"{where}.{key}" if key != "properties" else where, depth, key)
        if key in LISTS and isinstance(value, list):
            members = [self._schema(member, f"{where}.{key}[{i}]", depth) for i, member in enumerate(value)]
            kept = [member for member in members if member is not None and member != {"not": {}}]
            return (kept if key != "prefixItems" else [member or {} for member in members]) or DROPPED
        if key in SINGLES:
            if isinstance(value, bool) and key in ("additionalProperties", "unevaluatedProperties"):
                return value
            found = self._schema(value, f"{where}.{key}" if key != "items" else f"{where}[]", depth)
            return DROPPED if found is None else found
        if value is not None:
            self._warn(where, f"malformed {key} dropped")
        return DROPPED

    def _map(self, value: dict[str, Any], where: str, depth: int, key: str = "") -> dict[str, Any]:
        clean: dict[str, Any] = {}
        for name, schema in value.items():
            if (key == "properties" and schema is False) or (key == "patternProperties" and not values.compiles(name)):
                self._warn(f"{where}.{name}", "dropped")
                continue
            found = self._schema(schema, f"{where}.{name}".lstrip("."), depth)
            if found is None:
                self._warn(f"{where}.{name}", "is not a schema, shown without a type")
            clean[name] = found or {}
        return clean

    def _schema(self, value: object, where: str, depth: int) -> dict[str, Any] | None:
        """Return the clean copy of what stands where a schema should, or None if it is none."""
        if isinstance(value, dict):
            return self.node(value, where, depth)
        if isinstance(value, bool):
            return {} if value else {"not": {}}
        word = type_word(value)  # {"city": "string"}, a shorthand that servers write
        return _one_type({"type": [word]}) if word else None

    def _reference(self, ref: object, holder: dict[str, Any], where: str) -> str | None:
        target = self._refs.resolve(ref, holder)
        if not isinstance(target, (dict, bool)) or id(holder) in self._refs.endless():
            self._warn(where, f"reference {str(ref)[:80]!r} leads nowhere, dropped")
            return None
        if isinstance(ref, str) and self._stands_at_root(ref, target):
            return ref
        return "#/$defs/" + quote(self._home(ref, target), safe="")

    def _stands_at_root(self, ref: str, target: object) -> bool:
        if not (short := _SHORT_REF.fullmatch(ref)):
            return False
        listed = self.root.get(short[1])
        name = unquote(short[2]).replace("~1", "/").replace("~0", "~")
        return isinstance(listed, dict) and listed.get(name) is target and clean_label(name) == name

    def _home(self, ref: object, target: object) -> str:
        """Return the name under `$defs` for a target that stands elsewhere, giving it one at need."""
        if id(target) in self._homes and not isinstance(target, bool):
            return self._homes[id(target)]
        stem = name = re.sub(r"[^A-Za-z0-9_.-]+", "_", str(ref)).strip("_.-")[-40:] or "root"
        while name in self._taken:
            name = f"{stem}_{len(self._taken)}"
            stem = name if name in self._taken else stem
        self._taken.add(name)
        self._homes[id(target)] = name
        self._waiting.append((name, target))
        return name

    def _required(self, raw: dict[str, Any], clean: dict[str, Any], where: str) -> None:
        properties = raw.get("properties")
        if isinstance(properties, dict):
            # Draft-03 wrote `required: true` into the property itself, and some servers still do.
            marked = [n for n, s in properties.items() if isinstance(s, dict) and s.get("required") is True]
            if marked:
                clean["required"] = list(dict.fromkeys([*clean.get("required", []), *marked]))
        known = clean.get("properties")
        if not clean.get("required") or known is None or "object" not in clean.get("type", ()):
            return
        if unknown := [name for name in clean["required"] if name not in known]:
            self._warn(where, f"required names the unknown {unknown[0]!r}")
            clean["required"] = [name for name in clean["required"] if name in known]

    def _notes(self, raw: dict[str, Any], clean: dict[str, Any]) -> None:
        """Tell in the description what had to be left out of the schema."""
        notes = []
        if len(listed := clean.get("enum", [])) > values.MAX_ENUM:
            clean["enum"] = listed[: values.MAX_ENUM]
            notes.append(f"{len(listed) - values.MAX_ENUM} more values than listed")
        if "pattern" not in clean and isinstance(pattern := raw.get("pattern"), str):
            notes.append(f"pattern: {truncate(clean_label(pattern), 100)}")
        if notes:
            clean["description"] = with_notes(clean.get("description", ""), notes, self.max_text)

    def _warn(self, where: str, what: str) -> None:
        if len(self.warnings) < 50:
            self.warnings[truncate(clean_label(f"{where.lstrip('.') or 'root'}: {what}"), 200)] = None


def _modern(raw: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of an older draft in the words of 2020-12; others as they are."""
    changed = dict(raw)
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(raw.get(exclusive), bool):  # draft-04
            del changed[exclusive]
            if raw[exclusive] and bound in raw:
                changed[exclusive] = changed.pop(bound)
    if isinstance(positional := raw.get("items"), list):  # up to draft 2019-09
        changed.pop("items")
        changed.setdefault("prefixItems", positional)
        if "additionalItems" in raw:
            changed["items"] = raw["additionalItems"]
    changed.pop("additionalItems", None)
    if changed.get("items") is False:  # model APIs want a schema there; a length says the same
        changed["items"] = {}
        prefix = changed.get("prefixItems")
        length = len(prefix) if isinstance(prefix, list) else 0
        known = values.count(raw.get("maxItems"))
        changed["maxItems"] = min(known, length) if isinstance(known, int) else length
    if isinstance(dependencies := changed.pop("dependencies", None), dict):  # up to draft-07
        for key, wanted in (("dependentRequired", list), ("dependentSchemas", (dict, bool))):
            if (found := {n: v for n, v in dependencies.items() if isinstance(v, wanted)}) and key not in raw:
                changed[key] = found
    return changed


def _one_type(clean: dict[str, Any]) -> dict[str, Any]:
    """Replace a list of types by one type, or by an `anyOf` with one branch for each."""
    types: list[str] = clean.get("type", [])
    if "const" in clean or "enum" in clean:
        listed = clean["enum"] if "enum" in clean else [clean["const"]]
        possible = [kind for kind in types if any(_is_of(value, kind) for value in listed)]
        types = possible or types[:1]
    if len(types) == 1 or not types:
        clean = {**clean, "type": types[0]} if types else {k: v for k, v in clean.items() if k != "type"}
        if clean.get("type") == "array":
            clean.setdefault("items", {})  # OpenAI refuses an array without
        return clean
    wanted = [kind for kind in types if kind != "null"]
    if len(types) >= 6 or ("anyOf" in clean and len(wanted) > 1):
        return {key: value for key, value in clean.items() if key != "type"}
    outer = {key: value for key, value in clean.items() if key not in _INNER and key != "type"}
    inner = {key: value for key, value in clean.items() if key in _INNER}
    return {**outer, "anyOf": [_branch(kind, inner, wanted) for kind in types]}


def _branch(kind: str, inner: dict[str, Any], wanted: list[str]) -> dict[str, Any]:
    """Return the branch for one type: its own keywords, and for the first type also those of none."""
    others = frozenset[str]().union(*(keywords_of(other) for other in wanted)) - keywords_of(kind)
    branch: dict[str, Any] = {"type": kind}
    for key, value in inner.items():
        if key == "enum":
            branch[key] = [member for member in value if _is_of(member, kind)]
        elif key in keywords_of(kind) or (kind == wanted[0] and key not in others):
            branch[key] = value
    if kind == "null":
        return {"type": "null"}
    if kind == "array":
        branch.setdefault("items", {})
    return branch


def _is_of(value: object, kind: str) -> bool:
    found = json_type(value)
    return found == kind or (found == "integer" and kind == "number")


def with_notes(description: str, notes: list[str], limit: int) -> str:
    """Return the description with the notes in brackets; it is the description that is cut at need."""
    told = truncate(f"({'; '.join(notes)})", limit)
    room = limit - len(told) - 1
    return f"{truncate(description, room)} {told}".strip() if description and room > 0 else told
