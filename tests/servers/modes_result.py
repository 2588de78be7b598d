"""Modes about results: `results` has a tool for each shape, `result_X` only the tool X."""

from __future__ import annotations

from base import Server, register, tool
from shapes import BODIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from base import Request
    from wire import Message


class Results(Server):
    """A server whose tools answer with the shape they are called after."""

    def shapes(self) -> list[str]:
        return list(BODIES) if self.mode == "results" else [self.mode.removeprefix("result_")]

    def tools(self) -> list[Any]:
        return [*super().tools(), *(tool(name, f"Answer with {BODIES[name][0]}.") for name in self.shapes())]

    def call(self, request: Request, name: str, arguments: Any) -> Message | None:
        if name not in self.shapes():
            return super().call(request, name, arguments)
        body = BODIES[name][1]
        self.respond(request, **(body() if callable(body) else body))
        return None


register("results", Results, "All result shapes, one tool each.")
for _name, (_oddity, _) in BODIES.items():
    register("result_" + _name, Results, f"Tool `{_name}` answers with {_oddity}.")
