"""Modes about tool schemas: `schema_zoo` has them all, `zoo_X` only the tool X next to echo and pid."""

from __future__ import annotations

from base import Server, as_json, mode, register, text, tool
from zoo_plain import SHAPES
from zoo_refs import REFS, WHOLE_TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from base import Request
    from wire import Message


def exhibit(name: str) -> Message:
    """Describe the zoo's tool of that name."""
    if name in WHOLE_TOOLS:
        oddity, members = WHOLE_TOOLS[name]
        default = {} if name.startswith("desc_") else {"description": oddity}
        return {"name": name, **default, **members}
    oddity, schema = SHAPES[name] if name in SHAPES else REFS[name]
    return {"name": name, "description": oddity, "inputSchema": schema}


class Receiver(Server):
    """A server whose tools beyond the plain ones return what arrived: `{"called": ..., "arguments": ...}`."""

    def call(self, request: Request, name: str, arguments: Any) -> Message | None:
        if name in ("echo", "pid", "count", "sleep"):
            return super().call(request, name, arguments)
        return text(as_json({"called": name, "arguments": arguments}))


class Zoo(Receiver):
    """A server with one tool of the zoo, or with all."""

    def tools(self) -> list[Any]:
        if self.mode == "schema_zoo":
            return [*super().tools(), *(exhibit(name) for name in [*SHAPES, *REFS, *WHOLE_TOOLS])]
        return [*super().tools(), exhibit(self.mode.removeprefix("zoo_"))]


register("schema_zoo", Zoo, "All tools of the schema zoo; a call returns what arrived.")
for _name, (_oddity, _) in [*SHAPES.items(), *REFS.items(), *WHOLE_TOOLS.items()]:
    register("zoo_" + _name, Zoo, f"Only the schema_zoo tool {_name} next to echo and pid: {_oddity}")


@mode("null_properties")
class NullProperties(Receiver):
    """Tools with properties null, [] or missing, and one without inputSchema."""

    def tools(self) -> list[Any]:
        schemas: dict[str, Any] = {
            "props_null": {"type": "object", "properties": None, "required": None},
            "props_list": {"type": "object", "properties": []},
            "props_bare": {"properties": None, "required": None},
            "props_missing": {"type": "object"},
            "schema_empty": {},
        }
        odd = [{"name": name, "description": name, "inputSchema": value} for name, value in schemas.items()]
        return [*super().tools(), *odd, {"name": "schema_missing", "description": "no inputSchema"}]


@mode("bad_tools")
class BadTools(Receiver):
    """A list in which some entries are broken (no name, name 5, name "", null, a string, schema a string).

    The good ones are echo, pid, and `s1`, `s2`, `s3`, whose schema is a string, null and missing.
    """

    def tools(self) -> list[Any]:
        return [
            *super().tools(),
            {"description": "no name", "inputSchema": {"type": "object"}},
            {"name": 5, "description": "name is a number"},
            {"name": "", "description": "name is empty"},
            {"name": None, "description": "name is null"},
            None,
            "just text",
            ["a", "list"],
            7,
            {},
            {"name": "s1", "description": "schema is text", "inputSchema": "object"},
            {"name": "s2", "description": "schema is null", "inputSchema": None},
            {"name": "s3"},
        ]


@mode("many_tools")
class ManyTools(Receiver):
    """`count` (300) tools: more than models take."""

    def tools(self) -> list[Any]:
        count = int(self.number("count", 300))
        return [
            *super().tools(),
            *(tool(f"many_{number:03}", f"Number {number}.") for number in range(count)),
        ]
