"""Modes about arguments: servers that check them strictly, report them, or name them badly."""

from __future__ import annotations

from base import NUMBER, STRING, Server, as_json, mode, text, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from base import Request
    from wire import Message

STRICT: Message = {
    "count": {"type": "integer", "minimum": 0},
    "ratio": {"type": "number"},
    "flag": {"type": "boolean"},
    "note": {"type": "string"},
    "zip": {"type": "string"},
    "level": {"type": ["string", "null"]},
    "color": {"type": "string", "enum": ["red", "green"]},
    "tags": {"type": "array", "items": {"type": "string"}},
    "where": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
    "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
}


def has_type(value: Any, name: str) -> bool:
    """Say whether the value is of that JSON type; true is no number here."""
    match name:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            kinds = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}
            return isinstance(value, kinds[name])


def faults(value: Any, schema: Message, path: str) -> list[str]:
    """List what is wrong with the value, as a strict validator would."""
    if "anyOf" in schema:
        if any(not faults(value, branch, path) for branch in schema["anyOf"]):
            return []
        return [f"{path}: {as_json(value)} fits no branch"]
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(has_type(value, name) for name in names):
        return [f"{path}: {as_json(value)} is not of type {' or '.join(names)}"]
    found: list[str] = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {as_json(value)} is not one of {as_json(schema['enum'])}")
    if "minimum" in schema and value < schema["minimum"]:
        found.append(f"{path}: {value} is less than {schema['minimum']}")
    if isinstance(value, list):
        for index, item in enumerate(value):
            found += faults(item, schema["items"], f"{path}[{index}]")
    if isinstance(value, dict):
        found += [f"{path}: {key} is missing" for key in schema.get("required", []) if key not in value]
        for key, item in value.items():
            known = schema["properties"].get(key)
            found += faults(item, known, f"{path}.{key}") if known else [f"{path}: {key} is unknown"]
    return found


@mode("strict_args")
class StrictArgs(Server):
    """Tool `strict` refuses arguments of a wrong type, null where not nullable, unknown or missing names.

    `count` is required. The answer is `ok:` and the arguments as JSON, or isError with all faults. `noargs`
    takes nothing, and refuses anything but {} or no arguments at all.
    """

    extra = (
        tool("strict", "Check the arguments strictly.", STRICT, "count"),
        tool("noargs", "Take nothing."),
    )

    def call(self, request: Request, name: str, arguments: Any) -> Message | None:
        if name not in ("strict", "noargs"):
            return super().call(request, name, arguments)
        schema: Message = {"type": "object", "properties": {}}
        if name == "strict":
            schema = {"type": "object", "properties": STRICT, "required": ["count"]}
        if name == "noargs" and "arguments" not in request.params:
            arguments = {}
        found = faults(arguments, schema, "arguments")
        if found:
            return {**text("invalid arguments: " + "; ".join(found)), "isError": True}
        return text("ok:" + as_json(arguments))


@mode("echo_args")
class EchoArgs(Server):
    """Tool `args` accepts anything and returns the params of the request exactly as they arrived, as JSON."""

    extra = (
        {
            "name": "args",
            "description": "Return the request's params.",
            "inputSchema": {"type": "object", "properties": {"text": STRING, "n": NUMBER}},
        },
    )

    def tool_args(self, request: Request, arguments: Message) -> Message:
        return text(as_json(request.params))


RESERVED: tuple[str, ...] = (
    *("self", "cls", "config", "class", "def", "return", "None", "model_config", "model_fields", "type"),
    *("user.id", "user-id", "user", "id", "name", "run_manager", "callbacks", "chat", "session", "timeout"),
    *("arguments", "args", "kwargs", "function_args", "tool_call_id", "reasoning", "properties", "$ref"),
    *("_private", "__class__", "城市", "1st", "@attr"),
)


@mode("reserved_params")
class ReservedParams(Server):
    """Tool `param_names`: parameters called self, config, class, user.id ...; returns what arrived.

    One name has a space, one 80 characters; two differ only in a character that models do not allow.
    """

    def tools(self) -> list[Any]:
        names = [*RESERVED, "with space", "p" * 80, "a.b", "a_b"]
        return [
            *super().tools(),
            tool("param_names", "Return the arguments.", dict.fromkeys(names, STRING)),
        ]

    def tool_param_names(self, request: Request, arguments: Message) -> Message:
        return text(as_json(arguments))
