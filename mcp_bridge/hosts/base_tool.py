"""One `BaseTool` subclass per MCP tool, for bots that register classes.

Hosts pass their own base class; `BaseTool` here is a small one for everybody else, and
says what the factory reads from a base: which argument names belong to the host.
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
"""Most that `max_call_time` is by default inside a bot: people in a chat do not wait longer."""
Parameter = tuple[str, Any, str, bool, "list[Any] | None"]
"""A host's parameter: name, type, description, required, allowed values or None."""


class BaseTool:
    """A tool class without a host. `chat` and `user` say on whose behalf it is executed."""

    name: ClassVar[str] = ""
    description: ClassVar[str] = ""
    parameters: ClassVar[list[Parameter]] = []
    input_schema: ClassVar[dict[str, Any]] = {}
    available_for_llm: ClassVar[bool] = False
    host_arguments: ClassVar[Collection[str]] = ()
    """Argument names that the host itself fills in: a tool's own of that name get a trailing `_`."""

    def __init__(self, chat: str | None = None, user: str | None = None) -> None:
        self.chat = chat
        self.user = user

    @classmethod
    def get_tool_definition(cls) -> dict[str, Any]:
        """Return name, description and 5-tuples, as hosts ask for them."""
        return {"name": cls.name, "description": cls.description, "parameters": cls.parameters}

    async def execute(self, function_args: dict[str, Any]) -> dict[str, Any]:
        """Run the tool. Subclasses made by `create_mcp_tool_class` do."""
        raise NotImplementedError

    def answer(self, result: ToolResult) -> dict[str, Any]:
        """Return what `execute` answers for a result; hosts with richer answers override it."""
        return {"content": result.text}


def create_mcp_tool_class(tool: Tool, bridge: ToolCaller, base: type[Any] = BaseTool) -> type[Any]:
    """Return a subclass of `base` that calls `tool` through `bridge`, in a session of its own per call.

    A base that has a class method `flat_parameter(flat)` returning its 5-tuple knows four types of
    parameters only: nested values are asked for as JSON text and decoded again.
    `execute` never raises for a failing tool or server: the model gets a text that says
    what failed, for which server, and what to try.
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
    """Return the tool's own arguments under its own names, without what a host has added."""
    if reserved:
        free = bool(schema.get("additionalProperties"))
        arguments = {
            name: value
            for name, value in arguments.items()
            if name in schema["properties"] or (free and name not in reserved)
        }
    return {original.get(name, name): value for name, value in arguments.items()}


def _parameters(schema: Mapping[str, Any]) -> list[Parameter]:
    """Return the 5-tuples of a shown schema; every description is non-empty, as hosts demand."""
    required = schema.get("required", ())
    return [
        (name, _type(one), one.get("description") or name, name in required, one.get("enum"))
        for name, one in schema["properties"].items()
    ]


def _type(schema: Mapping[str, Any]) -> str:
    """Return the one JSON type that a parameter has, "string" where it has none or several."""
    if isinstance(schema.get("type"), str):
        return str(schema["type"])
    branches = [one.get("type") for one in schema.get("anyOf", ()) if isinstance(one, Mapping)]
    kinds = {kind for kind in branches if isinstance(kind, str) and kind != "null"}
    return kinds.pop() if len(kinds) == 1 else "string"
