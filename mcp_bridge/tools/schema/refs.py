"""Resolve `$ref` inside one schema document, and never outside of it.

Follows JSON Schema 2020-12 core, section 8.2 (`$id`, `$anchor`, embedded resources), and RFC 6901
(JSON pointer, percent-encoded as a URI fragment). The library `referencing` is not used: it raises on the
malformed and misplaced references that servers send.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin

from .keywords import DATA, IN_PLACE_LISTS, IN_PLACE_SINGLES, REFERENCES

_MAX_NODES: Final = 200_000
"""Objects indexed in one document, which bounds the time that a large one takes."""

_DEFS: Final = ("$defs", "definitions")
_INDEX: Final = re.compile(r"[0-9]{1,9}")


class References:
    """The places of one document that a `$ref` can name; indexed at the first use."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._bases: dict[int, str] | None = None
        self._schemas: list[Mapping[Any, Any]] = []
        self._endless: set[int] | None = None
        self._known: dict[tuple[str, str], object | None] = {}
        self._resources: dict[str, object] = {"": root}
        self._anchors: dict[tuple[str, str], object] = {}
        self._nested_defs: dict[str, list[object]] = {}

    def resolve(self, ref: object, holder: object) -> object | None:
        """Return what `ref` in the schema `holder` refers to, None if it is not inside the document."""
        if not isinstance(ref, str):
            return None
        base = self._index().get(id(holder), "")
        if (base, ref) not in self._known:
            self._known[base, ref] = self._find(ref, base)
        return self._known[base, ref]

    def _find(self, ref: str, base: str) -> object | None:
        try:
            url, fragment = urldefrag(base + ref if ref.startswith("#") else urljoin(base, ref))
        except ValueError:  # urllib refuses some malformed hosts, such as "http://["
            return None
        if url not in self._resources:
            return None
        resource = self._resources[url]
        if fragment and not fragment.startswith("/"):
            return self._anchors.get((url, unquote(fragment)))
        tokens = _tokens(fragment)
        found = _follow(resource, tokens)
        return self._misplaced(tokens) if found is None else found

    def endless(self) -> set[int]:
        """Return the ids of schemas whose references lead back to themselves without descending into a value.

        One schema of each such loop is returned: dropping its reference breaks the loop.
        """
        if self._endless is None:
            self._index()
            self._endless = set()
            done: set[int] = set()
            for schema in self._schemas:
                self._find_loops(schema, done, self._endless)
        return self._endless

    def _find_loops(self, start: object, done: set[int], endless: set[int]) -> None:
        path: dict[int, list[object]] = {}  # the schemas being applied, with those that each still has to apply
        order: list[object] = []
        enter: object | None = start
        while order or enter is not None:
            if isinstance(enter, Mapping) and id(enter) not in done:
                if id(enter) in path:
                    endless.add(id(order[-1]))
                else:
                    path[id(enter)] = self._in_place(enter)
                    order.append(enter)
            enter = None
            if order and (waiting := path[id(order[-1])]):
                enter = waiting.pop()
            elif order:
                done.add(id(left := order.pop()))
                del path[id(left)]

    def _in_place(self, schema: Mapping[Any, Any]) -> list[object]:
        found: list[object] = [self.resolve(schema[key], schema) for key in REFERENCES if key in schema]
        for key in IN_PLACE_LISTS:
            if isinstance(members := schema.get(key), list):
                found.extend(members)
        found.extend(schema.get(key) for key in IN_PLACE_SINGLES)
        return found

    def _misplaced(self, tokens: list[str]) -> object | None:
        # Servers paste a whole generated schema, with its `$defs`, under one property; its references are
        # still "#/$defs/X". That is unambiguous if all definitions of that name are equal.
        if len(tokens) != 2 or tokens[0] not in _DEFS:
            return None
        found = self._nested_defs.get(tokens[1], [])
        return found[0] if found and all(other == found[0] for other in found[1:]) else None

    def _index(self) -> dict[int, str]:
        if self._bases is not None:
            return self._bases
        bases: dict[int, str] = {}
        self._bases = bases
        waiting: list[tuple[object, str]] = [(self._root, "")]
        while waiting and len(bases) < _MAX_NODES:
            value, base = waiting.pop()
            if isinstance(value, Mapping):
                if id(value) in bases:
                    continue
                base = self._enter(value, base)
                bases[id(value)] = base
                self._schemas.append(value)
                waiting.extend((member, base) for key, member in value.items() if key not in DATA)
            elif isinstance(value, list):
                waiting.extend((member, base) for member in value if isinstance(member, (Mapping, list)))
        return bases

    def _enter(self, schema: Mapping[Any, Any], base: str) -> str:
        own = schema.get("$id")
        if isinstance(own, str) and own.startswith("#"):  # an anchor in draft-06 and draft-07
            self._anchors.setdefault((base, own[1:]), schema)
        elif isinstance(own, str):
            try:
                base = urldefrag(urljoin(base, own))[0]
            except ValueError:  # malformed hosts, as above; nothing can refer to such a name
                return base
            self._resources.setdefault(base, schema)
        for key in ("$anchor", "$dynamicAnchor"):
            if isinstance(anchor := schema.get(key), str):
                self._anchors.setdefault((base, anchor), schema)
        for key in _DEFS:
            if schema is not self._root and isinstance(defs := schema.get(key), Mapping):
                for name, target in defs.items():
                    self._nested_defs.setdefault(name, []).append(target)
        return base


def follow_pointer(root: object, ref: str) -> object | None:
    """Return what the fragment `#/...` refers to in a document without `$id`, None if there is nothing."""
    return _follow(root, _tokens(ref[1:]))


def _tokens(fragment: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in unquote(fragment).split("/")[1:]]


def _follow(value: object, tokens: list[str]) -> object | None:
    for token in tokens:
        if isinstance(value, Mapping) and token in value:
            value = value[token]
        elif isinstance(value, list) and _INDEX.fullmatch(token) and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    return value
