"""Check the values of single keywords: values that draft 2020-12 does not allow are DROPPED."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from ...text.cleaning import clean_label, truncate
from ...text.json_values import DROPPED

MAX_ENUM: Final = 500
"""Values of one `enum` that are shown; the description states how many more there are."""

MAX_DATA_CHARS: Final = 4000
"""JSON text of a default, an example, or the value of an unknown keyword."""

_MAX_PATTERN_CHARS: Final = 1000


def number(value: object) -> object:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else DROPPED


def positive(value: object) -> object:
    return value if isinstance(number(value), (int, float)) and value > 0 else DROPPED  # type: ignore[operator]


def count(value: object) -> object:
    found = number(value)
    if not isinstance(found, (int, float)) or found < 0 or found != int(found):
        return DROPPED
    return int(found)


def flag(value: object) -> object:
    return value if isinstance(value, bool) else DROPPED


def text(value: object) -> object:
    return clean_label(value) if isinstance(value, str) else DROPPED


def compiles(pattern: object) -> bool:
    """Tell whether Python's `re` accepts the pattern: validators written in Python use it."""
    if not isinstance(pattern, str) or len(pattern) > _MAX_PATTERN_CHARS:
        return False
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError, Warning):  # a Warning if the host turns warnings into errors
        return False
    return True


def data(value: object) -> object:
    return value if len(json.dumps(value)) <= MAX_DATA_CHARS else DROPPED


def default(value: object) -> object:
    # Model APIs refuse `default: null`: null is not of the parameter's type.
    return DROPPED if value is None else data(value)


def examples(value: object) -> object:
    return data(value) if isinstance(value, list) else DROPPED


def names(value: object) -> object:
    """Return the distinct names of a `required` list; a single name counts as a list of one."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list):
        return DROPPED
    return list(dict.fromkeys(name for name in listed if isinstance(name, str)))


def names_by_name(value: object) -> object:
    if not isinstance(value, dict):
        return DROPPED
    return {name: found for name, members in value.items() if (found := names(members)) is not DROPPED}


def enum(value: object) -> object:
    if not isinstance(value, list) or not value:
        return DROPPED
    return list({json.dumps(member, sort_keys=True): member for member in value}.values())


def label_data(value: object, limit: int) -> Any:
    """Return the value of an unknown keyword with all its text cleaned, since the model reads that too."""
    if isinstance(value, str):
        return truncate(clean_label(value), limit)
    if isinstance(value, list):
        return [label_data(member, limit) for member in value]
    if isinstance(value, dict):
        return {clean_label(key): label_data(member, limit) for key, member in value.items()}
    return value


CHECKS: Final[dict[str, Callable[[object], object]]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), number),
    "multipleOf": positive,
    **dict.fromkeys(
        (
            "minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties",
            "maxProperties",
        ),
        count,
    ),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly", "nullable"), flag),
    **dict.fromkeys(("title", "description", "$comment"), text),
    **dict.fromkeys(("format", "contentEncoding", "contentMediaType"), text),
    "pattern": lambda value: value if compiles(value) else DROPPED,
    "required": names,
    "dependentRequired": names_by_name,
    "enum": enum,
    "const": data,
    "default": default,
    "examples": examples,
}  # fmt: skip
"""The check of each keyword whose value holds no schemas; the module `clean` handles the others."""
