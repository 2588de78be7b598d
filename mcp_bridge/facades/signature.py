"""A Python function whose signature, annotations and docstring say what a tool's JSON Schema says.

A signature says less: no descriptions, no limits, and no names such as `from` or `max-results`,
which are no Python parameters. The function takes those as keywords all the same, and its
docstring tells of them.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import Any, Literal, Union

from ..text.cleaning import truncate
from ..tools.schema.merge import resolve

ToolFunction = Callable[..., Coroutine[Any, Any, str]]

MAX_DOC_CHARS = 1024
"""Longest docstring made here: model APIs take no longer description of a function."""
_MAX_DEPTH = 8
"""Levels of a schema that become types; what lies deeper is `Any`."""
_TYPES: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "object": dict[str, Any],
    "array": list[Any],
    "null": type(None),
}


def make_function(
    name: str, description: str, schema: Mapping[str, Any], call: Callable[[dict[str, Any]], Awaitable[str]]
) -> ToolFunction:
    """Return an `async def` function for a tool with a shown schema.

    All its parameters are keywords, which it hands to `call` as they were given: what was
    left out stays left out.
    """

    async def function(**arguments: Any) -> str:
        return await call(arguments)

    parameters = _parameters(schema)
    vars(function)["__signature__"] = Signature(parameters, return_annotation=str)
    function.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": str}
    function.__name__ = function.__qualname__ = name
    function.__doc__ = _docstring(description, schema)
    return function


def _parameters(schema: Mapping[str, Any]) -> list[Parameter]:
    properties: Mapping[str, Any] = schema["properties"]
    required = schema.get("required", ())
    parameters: list[Parameter] = []
    for name, one in properties.items():
        if _is_parameter(name):
            kind: Any = annotation(one, schema)
            default: Any = Parameter.empty
            if name not in required:
                default = copy.deepcopy(one.get("default")) if isinstance(one, Mapping) else None
                kind = kind if default is not None else kind | None
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    if len(parameters) < len(properties) or schema.get("additionalProperties", False) is not False:
        others = "kwargs"
        while others in properties:
            others += "_"
        parameters.append(Parameter(others, Parameter.VAR_KEYWORD, annotation=Any))
    return parameters


def annotation(schema: object, root: Mapping[str, Any], depth: int = _MAX_DEPTH) -> Any:
    """Return the Python type of the values that a schema inside `root` describes, `Any` if it is not known."""
    if not isinstance(schema, Mapping) or depth <= 0:
        return Any
    if "$ref" in schema:
        return annotation(resolve(dict(root), schema["$ref"]), root, depth - 1)
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(values, list) and values and all(isinstance(one, (str, int, type(None))) for one in values):
        literal: Any = Literal
        return literal[tuple(values)]
    for key in ("anyOf", "oneOf"):
        if branches := schema.get(key):
            return _union([annotation(branch, root, depth - 1) for branch in branches])
    match schema.get("type"):
        case "array":
            return list[annotation(schema.get("items"), root, depth - 1)]  # type: ignore[misc]
        case "object":
            return dict[str, annotation(schema.get("additionalProperties"), root, depth - 1)]  # type: ignore[misc]
        case kind:
            return _TYPES.get(str(kind), Any)


def _union(types: list[Any]) -> Any:
    union: Any = Union
    return Any if Any in types else union[tuple(types)]


def _docstring(description: str, schema: Mapping[str, Any]) -> str:
    """Return the description, and what the signature cannot say of the parameters."""
    lines = []
    for name, one in schema["properties"].items():
        told = one.get("description") if isinstance(one, Mapping) else None
        if told or not _is_parameter(name):
            need = "" if _is_parameter(name) else " (required)" if name in schema.get("required", ()) else " (optional)"
            lines.append(f"    {name}{need}: {told or name}")
    return truncate("\n".join([description, "", "Args:", *lines]) if lines else description, MAX_DOC_CHARS)


def _is_parameter(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name)
