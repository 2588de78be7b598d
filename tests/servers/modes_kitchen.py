"""The server that is shown through every way in: arguments with a shape, and each way in which a call can fail."""

from __future__ import annotations

from base import STRING, Server, as_json, mode, text, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from base import Request
    from wire import Message

ORDER: Message = {
    "dish": {"type": "string", "enum": ["soup", "bread"], "description": "What to cook"},
    "table": {
        "type": "object",
        "description": "Where it is eaten",
        "properties": {"number": {"type": "integer"}, "outside": {"type": "boolean"}},
        "required": ["number"],
    },
    "extras": {"type": "array", "items": STRING},
}


@mode("kitchen")
class Kitchen(Server):
    """Tool `order` returns nested arguments, `closed` fails, `slow` never answers, `fire` exits with status 3."""

    def tools(self) -> list[Message]:
        return [
            tool("order", "Order a dish.", ORDER, "dish"),
            tool("menu", "Tell what there is."),
            tool("closed", "Fail."),
            tool("slow", "Never answer."),
            tool("fire", "Die without an answer."),
        ]

    def tool_order(self, request: Request, arguments: Message) -> Message:
        return text(as_json(arguments))

    def tool_menu(self, request: Request, arguments: Message) -> Message:
        return text("soup, bread")

    def tool_closed(self, request: Request, arguments: Message) -> Message:
        return {**text("the kitchen is closed"), "isError": True}

    def tool_slow(self, request: Request, arguments: Message) -> None:
        """Leave the request without an answer."""

    def tool_fire(self, request: Request, arguments: Message) -> None:
        self.log.leave(3)
