"""The values that a schema lists, and which of them a value stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...text.json_values import DROPPED, json_type, same_json
from ..schema.convert import convert


class Listed:
    """The values that a schema lists; looking one up takes the same time however many there are."""

    def __init__(self, members: Sequence[Any]) -> None:
        self._scalars: dict[object, Any] = {}
        self._compound: list[Any] = []
        self._folded: dict[str, list[str]] = {}
        for member in members:
            if (key := _key(member)) is None:
                self._compound.append(member)
            elif key not in self._scalars:
                self._scalars[key] = member
                if isinstance(member, str):
                    self._folded.setdefault(_fold(member), []).append(member)
        self._kinds = dict.fromkeys(json_type(member) for member in members if not isinstance(member, str))

    def __contains__(self, value: object) -> bool:
        if (key := _key(value)) is not None:
            return key in self._scalars
        return any(same_json(value, member) for member in self._compound)

    def meant(self, value: Any) -> Any:
        """Return the listed value that `value` stands for, or `value` itself unless there is exactly one."""
        if value in self:
            return value
        if not isinstance(value, str):
            text = convert(value, "string")
            return text if text is not DROPPED and text in self else value
        found: list[Any] = list(self._folded.get(_fold(value), ()))
        for kind in self._kinds:
            converted = DROPPED if kind is None else convert(value, kind)
            if converted is not DROPPED and converted in self and converted not in Listed(found):
                found.append(self._scalars.get(_key(converted), converted))
        return found[0] if len(found) == 1 else value


def enum_member(value: Any, schema: Mapping[str, Any], listed: Listed | None) -> Any:
    """Return the value listed in a schema that `value` stands for, or `value` itself unless there is exactly one."""
    if listed is None or (value is None and schema.get("nullable") is True):
        return value
    return listed.meant(value)


def _key(value: object) -> object:
    """Return the key of a scalar, equal for values that JSON Schema calls equal; None for other values."""
    if isinstance(value, bool):
        return ("boolean", value)
    if value is None or isinstance(value, (int, float, str)):
        return (json_type(value) == "string", value)
    return None


def _fold(text: str) -> str:
    return text.strip().casefold()
