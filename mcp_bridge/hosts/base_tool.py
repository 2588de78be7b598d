"""One `BaseTool` subclass per MCP tool, for bots that register classes.

A host passes its own base class; `BaseTool` is a small one for other programs, and declares the
attributes that the factory reads from a base.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar, cast

from ..calls import ToolCaller
from ..errors import BridgeError
from ..tools.failure_text import failure_text, result_text
from ..tools.names import sanitize
from ..tools.result import ToolResult
from ..tools.schema.flat import FlatParameter, flatten, unflatten
from ..tools.schema.shown import rename_parameters
from ..tools.tool import Tool

MAX_CALL_SECONDS = 120.0
"""Upper limit of the default of `max_call_time` inside a bot: people in a chat do not wait longer."""
Parameter = tuple[str, Any, str, bool, "list[Any] | None"]
"""A parameter as hosts declare it: name, type, description, required, allowed values or None."""


class BaseTool:
    """A tool class without a host. `chat` and `user` identify the caller, for the owner's rules."""

    name: ClassVar[str] = ""
    description: ClassVar[str] = ""
    parameters: ClassVar[list[Parameter]] = []
    input_schema: ClassVar[dict[str, Any]] = {}
    available_for_llm: ClassVar[bool] = False
    host_arguments: ClassVar[Collection[str]] = ()
    """Argument names that the host fills in: a tool's own parameter of that name gets a trailing `_`."""

    def __init__(self, chat: str | None = None, user: str | None = None) -> None:
        self.chat = chat
        self.user = user

    @classmethod
    def get_tool_definition(cls) -> dict[str, Any]:
        """Return name, description and parameters, under the keys that hosts read."""
        return {"name": cls.name, "description": cls.description, "parameters": cls.parameters}

    async def execute(self, function_args: dict[str, Any]) -> dict[str, Any]:
        """Call the tool. Implemented by the classes of `create_mcp_tool_class`."""
        raise NotImplementedError

    def answer(self, result: ToolResult) -> dict[str, Any]:
        """Return the answer of `execute` for a result; hosts with richer answers override it."""
        return {"content": result.text}


def create_mcp_tool_class(tool: Tool, bridge: ToolCaller, base: type[Any] = BaseTool) -> type[Any]:
    """Return a subclass of `base` that calls `tool` through `bridge`.

    A base with a class method `flat_parameter(flat)` that returns the host's 5-tuple has only four types of
    parameters: nested values are requested as JSON text and decoded.
    `execute` does not raise for a failing tool or server: the model gets a text that names
    the failure, the server and a remedy.
    """
    reserved: Collection[str] = getattr(base, "host_arguments", ())
    flat_parameter: Callable[[FlatParameter], Parameter] | None = getattr(base, "flat_parameter", None)
    schema, original = rename_parameters(tool.input_schema, reserved)

    async def execute(self: Any, function_args: Mapping[str, Any] | None = None) -> dict[str, Any]:
        arguments = dict(function_args or {})
        if flat_parameter is not None:
            arguments = unflatten(arguments, schema)
        arguments = _tool_arguments(arguments, schema, original, reserved)
        chat, user = getattr(self, "chat", None), getattr(self, "user", None)
        try:
            result = await bridge.call(tool.name, arguments, chat=chat, user=user)
        except BridgeError as error:
            result = ToolResult(failure_text(error, tool.server, tool.remote_name), is_error=True)
        else:
            result = replace(result, text=result_text(result, tool.server, tool.remote_name))
        answer = getattr(self, "answer", None)
        return cast("dict[str, Any]", answer(result)) if answer else {"content": result.text}

    attributes = {
        "__doc__": tool.description,
        "__module__": __name__,
        "name": tool.name,
        "description": tool.description,
        "parameters": [*map(flat_parameter, flatten(schema))] if flat_parameter else _parameters(schema),
        "input_schema": schema,
        "available_for_llm": True,
        "mcp_tool": tool,
        "execute": execute,
    }
    return type(sanitize(tool.name), (base,), attributes)


def _tool_arguments(
    arguments: dict[str, Any],
    schema: Mapping[str, Any],
    original: Mapping[str, str],
    reserved: Collection[str],
) -> dict[str, Any]:
    """Return the tool's arguments under the server's own names, without those that the host has added."""
    if reserved:
        free = bool(schema.get("additionalProperties"))
        arguments = {
            name: value
            for name, value in arguments.items()
            if name in schema["properties"] or (free and name not in reserved)
        }
    return {original.get(name, name): value for name, value in arguments.items()}


def _parameters(schema: Mapping[str, Any]) -> list[Parameter]:
    """Return the 5-tuples of a shown schema; hosts require a description for each."""
    required = schema.get("required", ())
    return [
        (name, _type(one), one.get("description") or name, name in required, one.get("enum"))
        for name, one in schema["properties"].items()
    ]


def _type(schema: Mapping[str, Any]) -> str:
    """Return the JSON type of a parameter, "string" if it has none or several."""
    if isinstance(schema.get("type"), str):
        return str(schema["type"])
    branches = [one.get("type") for one in schema.get("anyOf", ()) if isinstance(one, Mapping)]
    kinds = {kind for kind in branches if isinstance(kind, str) and kind != "null"}
    return kinds.pop() if len(kinds) == 1 else "string"
