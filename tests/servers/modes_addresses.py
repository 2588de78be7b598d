"""Modes about addresses that a server names and nobody must visit: `url` is where the trap listens."""

from __future__ import annotations

from base import STRING, Server, mode, tool
from modes_schema import Receiver
from shapes import IMAGE, LINK, content, embedded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from base import Request
    from wire import Message


@mode("refs_to")
class RefsTo(Receiver):
    """Tool `refs` has references, `$schema` and `$id` at `url`; icons and a website lie there too."""

    def tools(self) -> list[Any]:
        url = self.options.get("url", "http://127.0.0.1:9")
        properties = {
            "a": {"$ref": url + "/schema.json"},
            "b": {"$ref": url + "/defs.json#/$defs/B", "description": "kept"},
            "c": {"type": "array", "items": {"$dynamicRef": url + "/items"}},
            "d": STRING,
        }
        entry = tool("refs", "References to another place.", properties)
        entry["inputSchema"] |= {"$schema": url + "/dialect", "$id": url + "/root"}
        return [*super().tools(), entry | {"icons": [{"src": url + "/icon.png"}]}]

    def initialize(self, request: Request) -> Message | None:
        found = super().initialize(request) or {}
        info = {**found["serverInfo"], "websiteUrl": self.options.get("url"), "icons": [{"src": "x"}]}
        return {**found, "serverInfo": info}


@mode("links_to")
class LinksTo(Server):
    """Tool `links` answers with links, an image and an embedded resource that all lie at `url`."""

    extra = (tool("links", "Return links."),)

    def tool_links(self, request: Request, arguments: Message) -> Message:
        url = self.options.get("url", "http://127.0.0.1:9")
        found: Message = content(
            {**LINK, "uri": url + "/report.pdf"},
            {**IMAGE, "data": url + "/picture.png"},
            embedded(uri=url + "/page.html"),
        )["result"]
        return found
