"""Read the arguments that a model sends, and repair them by the server's own schema.

Models send numbers as strings, objects as JSON text and null for omitted parameters; servers refuse such
calls. Only values that do not fit the schema are changed; those that cannot be repaired are passed on, so that
the server's own error reaches the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from ...text.cleaning import clean_label, encodable, truncate
from ...text.json_values import DROPPED, MAX_DEPTH, MAX_NODES, JsonCopier, json_type, read_json
from ..schema.convert import MAX_ENCODINGS, convert
from ..schema.keywords import type_words
from .fit import Checker, OutOfSteps
from .listed import enum_member

_FENCE: Final = re.compile(r"```[\w+-]*[ \t]*\n?(.*?)\s*```", re.DOTALL)
_LIST_TEXT: Final = re.compile(
    r"""\s*(?:\[\s*["'\[{].*|\[.*\]|\{\s*".*\}|".*"|```.*|null|none|undefined)\s*""", re.DOTALL | re.IGNORECASE
)
"""Text that is or was meant to be a JSON list, or that stands for no value."""
_WRAPPERS: Final = frozenset({"arguments", "args", "kwargs", "params", "parameters", "input", "tool_input"})
"""Names under which models and frameworks wrap all arguments in one object."""

_FLAT: Final = frozenset({"$schema", "type", "title", "description", "properties", "required", "additionalProperties"})
_SIMPLE: Final = frozenset({"type", "title", "description", "default", "examples", "format", "minimum", "maximum"})
_PLAIN: Final = {"string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float)}


class ArgumentsError(ValueError):
    """The arguments are not a JSON object; the message tells the model what is wrong, with a quotation."""


def parse_arguments(arguments: object) -> dict[str, Any]:
    """Return the arguments as a new dict of plain JSON values; None and empty text become `{}`.

    Accepts a mapping, JSON text (also in a code fence or encoded twice), UTF-8 bytes, or None.
    Raises ArgumentsError for broken JSON, values that are not an object, NaN, Infinity, integers of more
    than 300 digits, values that JSON cannot represent, and more than 100 levels of nesting.
    """
    value = arguments
    if isinstance(value, (bytes, bytearray)):
        try:
            value = bytes(value).decode("utf-8")
        except UnicodeDecodeError as error:
            raise ArgumentsError(f"the arguments are not UTF-8 text (byte {error.start})") from None
    for _ in range(MAX_ENCODINGS):
        if not isinstance(value, str):
            break
        value = _decode(value)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        kind = json_type(value) or type(value).__name__
        raise ArgumentsError(f"the arguments must be a JSON object, not {kind}: {_quote(repr(value))}")
    copied: dict[str, Any] = _checked_copy(value, [MAX_NODES], MAX_DEPTH)
    return copied


def _decode(text: str) -> object:
    text = text.strip().removeprefix("\ufeff").strip()
    if fenced := _FENCE.fullmatch(text):
        text = fenced[1].strip()
    if not text:
        return None
    try:
        return read_json(text)
    except json.JSONDecodeError as error:
        near = _quote(text[max(0, error.pos - 20) : error.pos + 20])
        raise ArgumentsError(
            f"the arguments are not valid JSON: {error.msg} at character {error.pos + 1}, near {near}"
        ) from None
    except ValueError as error:
        raise ArgumentsError(f"the arguments are not valid JSON: {error}") from None
    except RecursionError:
        raise ArgumentsError(f"the arguments are nested too deeply: {_quote(text[:20])}") from None


def _checked_copy(value: object, nodes: list[int], depth: int) -> Any:
    nodes[0] -= 1
    if depth < 0 or nodes[0] < 0:
        raise ArgumentsError(
            f"the arguments are nested more than {MAX_DEPTH} levels deep or have more than {MAX_NODES} values"
        )
    if isinstance(value, Mapping):
        if odd := [key for key in value if not isinstance(key, str)]:
            raise ArgumentsError(f"a name in the arguments is not a string: {_quote(repr(odd[0]))}")
        return {encodable(key): _checked_copy(member, nodes, depth - 1) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_checked_copy(member, nodes, depth - 1) for member in value]
    plain = JsonCopier().copy(value)
    if plain is DROPPED:
        raise ArgumentsError(f"the arguments contain a value that JSON cannot represent: {_quote(repr(value))}")
    return plain


def _quote(text: str) -> str:
    return repr(truncate(clean_label(text), 60))


def repair_arguments(arguments: Mapping[str, Any], schema: object) -> dict[str, Any]:
    """Return a copy of the arguments, changed where they do not fit the server's raw schema; never raises.

    Arguments that are valid by the schema come back equal, and repairing a second time changes nothing.
    """
    if fits_at_a_glance(arguments, schema):
        return dict(arguments)
    original = dict(_copy(arguments, MAX_DEPTH))
    try:
        checker = Checker(schema)
        repaired = _Repairer(checker).value(original, schema, MAX_DEPTH)
        if (inner := _wrapped_arguments(original)) is not None and not checker.fits(repaired, schema, MAX_DEPTH):
            unwrapped = _Repairer(checker).value(inner, schema, MAX_DEPTH)
            repaired = unwrapped if checker.fits(unwrapped, schema, MAX_DEPTH) else repaired
        if not isinstance(repaired, dict):
            return original
        if _identical(repaired, original):
            return original
        # A schema that contradicts itself may "repair" a value back and forth: then nothing is changed.
        again = _Repairer(checker).value(repaired, schema, MAX_DEPTH)
    except (OutOfSteps, RecursionError):
        return original
    return repaired if _identical(again, repaired) else original


def fits_at_a_glance(arguments: Mapping[str, Any], schema: object) -> bool:
    """Tell whether there is clearly nothing to repair: plain values of the types that a flat schema states.

    Fast path: full repair is a noticeable share of a call's overhead, and most calls need none.
    """
    if not isinstance(schema, dict) or not schema.keys() <= _FLAT or schema.get("type") != "object":
        return False
    declared = schema.get("properties")
    if not isinstance(declared, dict) or (len(arguments) == 1 and not _WRAPPERS.isdisjoint(map(str.lower, arguments))):
        return False
    for name, value in arguments.items():
        wanted = declared.get(name)
        if not isinstance(wanted, dict) or not wanted.keys() <= _SIMPLE:
            return False
        kind = wanted.get("type")
        if not isinstance(kind, str) or type(value) not in _PLAIN.get(kind, ()):
            return False
    return True


def _wrapped_arguments(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the value of the only argument, if its name is one that models wrap all arguments in."""
    if len(arguments) != 1:
        return None
    name, inner = next(iter(arguments.items()))
    if name.lower() not in _WRAPPERS:
        return None
    inner = convert(inner, "object") if isinstance(inner, str) else inner
    return inner if isinstance(inner, dict) else None


class _Repairer:
    """Repair values by the schemas of one document; each method returns a new value or the same one."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker

    def value(self, value: Any, schema: object, depth: int, required: frozenset[str] = frozenset()) -> Any:
        """Return the value as `schema` requires it; `required` are names that schemas around it require."""
        self._checker.step()
        if not isinstance(schema, Mapping) or depth <= 0:
            return value
        required = required | self._checker.required(schema)
        for part in self._checker.always(schema):
            value = self.value(value, part, depth - 1, required)
        value = self._typed(value, schema, depth)
        for key in ("anyOf", "oneOf"):
            if isinstance(branches := schema.get(key), list) and branches:
                value = self._union(value, branches, depth, required)
        if isinstance(value, dict):
            value = self._object(value, schema, depth, required)
        elif isinstance(value, list):
            value = self._array(value, schema, depth)
        return enum_member(value, schema, self._checker.listed(schema))

    def _typed(self, value: Any, schema: Mapping[str, Any], depth: int) -> Any:
        types = type_words(schema.get("type"))
        if not types:
            return value
        if value is None and schema.get("nullable") is True:
            return value
        kind = json_type(value)
        if kind in types or (kind == "integer" and "number" in types):
            whole = isinstance(value, float) and kind == "integer" and "number" not in types
            return int(value) if whole and abs(value) < 2**63 else value
        for wanted in types:
            converted = convert(value, wanted)
            if converted is not DROPPED:
                return converted
        if "array" in types and "string" not in types:
            return self._wrapped(value, schema.get("items"), depth)
        return value

    def _wrapped(self, value: Any, items: object, depth: int) -> Any:
        """Return `[value]` if the value fits the schema of the array's items.

        Text that was meant to be a whole list, or no value, is left unchanged: as an item it would be accepted
        and acted on, whereas the server's error lets the model correct it.
        """
        if value is None or value == "" or not self._checker.is_specific(items):
            return value
        item = self.value(value, items, depth - 1)
        if not self._checker.fits(item, items, depth - 1):
            return value
        listed = self._checker.listed(items) if isinstance(items, Mapping) else None
        if isinstance(item, str) and listed is None and _LIST_TEXT.fullmatch(item):
            return value
        return [item]

    def _union(self, value: Any, branches: list[Any], depth: int, required: frozenset[str]) -> Any:
        for branch in branches:
            if self._checker.fits(value, branch, depth - 1):
                return self.value(value, branch, depth - 1, required)
        for branch in branches:
            repaired = self.value(value, branch, depth - 1, required)
            if self._checker.fits(repaired, branch, depth - 1):
                return repaired
        # Of "an object or null" the object is meant, even if one of its fields is still wrong.
        meant = [branch for branch in branches if not self._checker.only_null(branch)]
        return self.value(value, meant[0], depth - 1, required) if len(meant) == 1 else value

    def _object(
        self, value: dict[str, Any], schema: Mapping[str, Any], depth: int, required: frozenset[str]
    ) -> dict[str, Any]:
        declared = schema.get("properties")
        properties: Mapping[str, Any] = declared if isinstance(declared, Mapping) else {}
        others = None if "patternProperties" in schema else schema.get("additionalProperties")
        repaired: dict[str, Any] = {}
        for name, member in value.items():
            if name not in properties:
                repaired[name] = self.value(member, others, depth - 1)
                continue
            wanted = properties[name]
            open_null = member is None and not self._checker.fits(None, wanted, depth - 1)
            needed = name in required or (isinstance(wanted, Mapping) and wanted.get("required") is True)
            if open_null and not needed:
                continue
            repaired[name] = member if open_null else self.value(member, wanted, depth - 1)
        return repaired

    def _array(self, value: list[Any], schema: Mapping[str, Any], depth: int) -> list[Any]:
        prefix, items = self._checker.item_schemas(schema)
        return [
            self.value(member, prefix[i] if i < len(prefix) else items, depth - 1) for i, member in enumerate(value)
        ]


def _copy(value: Any, depth: int) -> Any:
    if depth <= 0:
        return value
    if isinstance(value, Mapping):
        return {key: _copy(member, depth - 1) for key, member in value.items()}
    return [_copy(member, depth - 1) for member in value] if isinstance(value, (list, tuple)) else value


def _identical(left: Any, right: Any) -> bool:
    """Compare values and their types: for `same_json` 5 and 5.0 are equal."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_identical(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_identical(a, b) for a, b in zip(left, right, strict=True))
    return type(left) is type(right) and (left is right or left == right)
