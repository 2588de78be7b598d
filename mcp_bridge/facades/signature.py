"""A Python function with the signature, annotations and docstring that a tool's JSON Schema describes.

A signature expresses less than a schema: no descriptions, no limits, and no names such as `from` or
`max-results`, which are not valid Python parameters. The function takes those as keywords
through `**kwargs`, and its docstring lists them.
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
"""Longest docstring: model APIs refuse longer descriptions of a function."""
_MAX_DEPTH = 8
"""Levels of a schema that become types; deeper ones are `Any`."""
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
    """Return an `async def` function for a tool; `schema` is one that `show` has returned.

    All parameters are keyword-only and are passed to `call` as given: an omitted one stays omitted.
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
    properties: Mapping[str, Mapping[str, Any]] = schema["properties"]
    required = schema.get("required", ())
    parameters: list[Parameter] = []
    for name, one in properties.items():
        if _is_parameter(name):
            kind: Any = annotation(one, schema)
            default: Any = Parameter.empty
            if name not in required:
                default = copy.deepcopy(one.get("default"))
                kind = kind if default is not None else kind | None
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    if len(parameters) < len(properties) or schema.get("additionalProperties", False) is not False:
        others = "kwargs"
        while others in properties:
            others += "_"
        parameters.append(Parameter(others, Parameter.VAR_KEYWORD, annotation=Any))
    return parameters


def annotation(schema: object, root: Mapping[str, Any], depth: int = _MAX_DEPTH) -> Any:
    """Return the Python type of the values that a schema inside `root` describes, `Any` if there is none."""
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
    """Return the description, followed by what the signature cannot express about the parameters."""
    lines = []
    for name, one in schema["properties"].items():
        text = one.get("description")
        if _is_parameter(name):
            if text:
                lines.append(f"    {name}: {text}")
        else:
            need = "required" if name in schema.get("required", ()) else "optional"
            lines.append(f"    {name} ({need}): {text or name}")
    return truncate("\n".join([description, "", "Args:", *lines]) if lines else description, MAX_DOC_CHARS)


def _is_parameter(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name)
