"""Turn a server's schema, however malformed, into well-formed JSON Schema draft 2020-12.

Every `$ref` of the result names a definition at its root, so that the root can be rebuilt afterwards.
"""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import quote, unquote

from ...text.cleaning import clean_label, truncate
from ...text.json_values import DROPPED
from . import values
from .drafts import modernize
from .keywords import LISTS, MAPS, REFERENCES, SINGLES, type_word, type_words
from .notes import with_notes
from .refs import References
from .type_lists import one_type

MAX_NODES: Final = 20_000
"""Schemas in one result; a tool that needs more is too large for a model's context anyway."""

_IDENTIFIERS: Final = frozenset({"$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"})
_LABELS: Final = ("title", "description", "$comment")
_RAW_CHARS: Final = 4
"""Characters of a label that are cleaned for each one shown: cleaning megabytes would take seconds."""
_MAX_WARNINGS: Final = 50
_SHORT_REF: Final = re.compile(r"#/(\$defs|definitions)/([^/]+)")
_DIALECT: Final = re.compile(r"https?://json-schema\.org/draft(/2020-12|/2019-09|-07|-06)/schema#?")


class TooLarge(Exception):
    """The result has more than MAX_NODES schemas at this depth."""


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
        """Return the clean root with every definition that is referred to in `$defs` or `definitions`."""
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
        """Return the clean copy of one schema, `where` in the document; raises TooLarge."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise TooLarge
        if depth <= 0:
            self._warn(where, "nested too deeply, shown without detail")
            word = type_word(raw.get("type"))
            return {"type": word, **({"items": {}} if word == "array" else {})} if word else {}
        holder, raw = raw, modernize(raw)
        clean: dict[str, Any] = {}
        for key, value in raw.items():
            if key in REFERENCES:
                if (ref := self._reference(value, holder, where)) is not None:
                    clean["$ref"] = ref
            elif (found := self._keyword(key, value, where, depth)) is not DROPPED:
                clean[key] = found
        self._required(raw, clean, where)
        self._notes(raw, clean)
        return one_type(clean)

    def _keyword(self, key: str, value: object, where: str, depth: int) -> object:
        """Return the clean value of a keyword, or DROPPED."""
        if key in values.CHECKS:
            return self._checked(key, value, where)
        if key in _IDENTIFIERS or key in ("$defs", "definitions"):
            return DROPPED  # references are rewritten, so that only the root's definitions are needed
        if key == "$schema":
            known = where == "" and isinstance(value, str) and _DIALECT.fullmatch(value)
            return value if known else DROPPED
        if key == "type":
            return self._types(value, where)
        if key in SINGLES:
            return self._single(key, value, where, depth - 1)
        if key in MAPS or key in LISTS:
            return self._several(key, value, where, depth - 1)
        if clean_label(key) != key or values.data(value) is DROPPED:
            self._warn(where, f"unknown keyword {key} dropped")
            return DROPPED
        return values.label_data(value, self.max_text)

    def _checked(self, key: str, value: object, where: str) -> object:
        """Return the value of a keyword that holds no schemas, if it is valid there."""
        if key in _LABELS and isinstance(value, str):
            value = value[: _RAW_CHARS * self.max_text]
        found = values.CHECKS[key](value)
        if found is DROPPED and value is not None and key not in ("required", "default"):
            self._warn(where, f"malformed {key} dropped")
        if key in _LABELS and isinstance(found, str):
            return truncate(found, self.max_text)
        return found

    def _types(self, value: object, where: str) -> object:
        words = value if isinstance(value, list) else [value]
        if unknown := [word for word in words if not type_word(word)]:
            self._warn(where, f"unknown type {str(unknown[0])[:40]!r} dropped")
        return type_words(value) or DROPPED

    def _single(self, key: str, value: object, where: str, depth: int) -> object:
        """Return the value of a keyword that holds one schema."""
        if isinstance(value, bool) and key in ("additionalProperties", "unevaluatedProperties"):
            return value
        found = self._schema(value, f"{where}.{key}" if key != "items" else f"{where}[]", depth)
        return DROPPED if found is None else found

    def _several(self, key: str, value: object, where: str, depth: int) -> object:
        """Return the value of a keyword that holds schemas by name or in a list."""
        if key in MAPS and isinstance(value, dict):
            return self._map(value, f"{where}.{key}" if key != "properties" else where, depth, key)
        if key in LISTS and isinstance(value, list):
            return self._list(value, f"{where}.{key}", depth, key) or DROPPED
        if value is not None:
            self._warn(where, f"malformed {key} dropped")
        return DROPPED

    def _list(self, value: list[Any], where: str, depth: int, key: str) -> list[dict[str, Any]]:
        members = [self._schema(member, f"{where}[{i}]", depth) for i, member in enumerate(value)]
        if key == "prefixItems":  # each keeps its position
            return [member or {} for member in members]
        return [member for member in members if member is not None and member != {"not": {}}]

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
        """Return the clean copy of a value in the place of a schema, None if it is not a schema."""
        if isinstance(value, dict):
            return self.node(value, where, depth)
        if isinstance(value, bool):
            return {} if value else {"not": {}}
        word = type_word(value)  # {"city": "string"}, a shorthand that servers use
        return one_type({"type": [word]}) if word else None

    def _reference(self, ref: object, holder: dict[str, Any], where: str) -> str | None:
        target = self._refs.resolve(ref, holder)
        if not isinstance(target, (dict, bool)) or id(holder) in self._refs.endless():
            self._warn(where, f"reference {str(ref)[:80]!r} leads nowhere, dropped")
            return None
        if isinstance(ref, str) and self._is_root_definition(ref, target):
            return ref
        return "#/$defs/" + quote(self._home(ref, target), safe="")

    def _is_root_definition(self, ref: str, target: object) -> bool:
        if not (short := _SHORT_REF.fullmatch(ref)):
            return False
        listed = self.root.get(short[1])
        name = unquote(short[2]).replace("~1", "/").replace("~0", "~")
        return isinstance(listed, dict) and listed.get(name) is target and clean_label(name) == name

    def _home(self, ref: object, target: object) -> str:
        """Return the name under `$defs` of a target that is defined elsewhere; give it one the first time."""
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
            # Draft-03 has `required: true` in the property itself, and some servers still write that.
            marked = [n for n, s in properties.items() if isinstance(s, dict) and s.get("required") is True]
            if marked:
                clean["required"] = list(dict.fromkeys([*clean.get("required", []), *marked]))
        known = clean.get("properties")
        if not clean.get("required") or known is None or "object" not in clean.get("type", ()):
            return
        if unknown := [name for name in clean["required"] if name not in known]:
            self._warn(where, f"required contains the unknown name {unknown[0]!r}")
            clean["required"] = [name for name in clean["required"] if name in known]

    def _notes(self, raw: dict[str, Any], clean: dict[str, Any]) -> None:
        """Describe what had to be left out of the schema."""
        notes = []
        if len(listed := clean.get("enum", [])) > values.MAX_ENUM:
            clean["enum"] = listed[: values.MAX_ENUM]
            notes.append(f"{len(listed) - values.MAX_ENUM} more values are not listed")
        if "pattern" not in clean and isinstance(pattern := raw.get("pattern"), str):
            notes.append(f"pattern: {truncate(clean_label(pattern), 100)}")
        if notes:
            clean["description"] = with_notes(clean.get("description", ""), notes, self.max_text)

    def _warn(self, where: str, what: str) -> None:
        if len(self.warnings) < _MAX_WARNINGS:
            self.warnings[truncate(clean_label(f"{where.lstrip('.') or 'root'}: {what}"), 200)] = None
