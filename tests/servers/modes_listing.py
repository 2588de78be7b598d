"""Modes about tools/list: pages, cursors, errors, and lists that change."""

from __future__ import annotations

import base64
import time

from base import INTERNAL_ERROR, INVALID_PARAMS, STRING, RpcError, Server, mode, register, text, tool
from memory import recall, remember

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from base import Request
    from wire import Message


def cursor_of(page: int) -> str:
    return base64.b64encode(f"p:{page}".encode()).decode()


@mode("paginate")
class Paginate(Server):
    """tools/list is split in `count` (3) pages of two tools; cursors are opaque strings, checked exactly."""

    def page_tools(self, page: int) -> list[Any]:
        if page == 0:
            return self.tools()
        return [tool(f"page{page}_{letter}", f"On page {page}.", {"text": STRING}) for letter in "ab"]

    def list_page(self, cursor: Any) -> Message | None:
        count = int(self.number("count", 3))
        pages = {None: 0} | {cursor_of(page): page for page in range(1, count)}
        if not isinstance(cursor, str | None) or cursor not in pages:
            raise RpcError(INVALID_PARAMS, f"Invalid cursor: {cursor!r}")
        page = pages[cursor]
        answer: Message = {"tools": self.page_tools(page)}
        if page + 1 < count:
            answer["nextCursor"] = cursor_of(page + 1)
        return answer

    def call(self, request: Request, name: str, arguments: Any) -> Message | None:
        if name.startswith("page"):
            return text(f"called:{name}")
        return super().call(request, name, arguments)


@mode("empty_cursor")
class EmptyCursor(Server):
    """nextCursor is "" on the first answer and null on later ones: both mean the end."""

    listed = False

    def list_page(self, cursor: Any) -> Message:
        answer = {"tools": self.tools(), "nextCursor": None if self.listed else ""}
        self.listed = True
        return answer


@mode("cursor_page_error")
class CursorPageError(Paginate):
    """The first page is fine, the second page answers with an error."""

    def list_page(self, cursor: Any) -> Message | None:
        if cursor is not None:
            raise RpcError(INTERNAL_ERROR, "page cache lost")
        return super().list_page(cursor)


@mode("cursor_page_hang")
class CursorPageHang(Paginate):
    """The first page is fine, the second page is never answered."""

    def list_page(self, cursor: Any) -> Message | None:
        return None if cursor is not None else super().list_page(cursor)


@mode("cursor_loop")
class CursorLoop(Paginate):
    """Every page names the same next cursor and holds the same tools: a naive client never ends."""

    def list_page(self, cursor: Any) -> Message:
        return {"tools": self.tools(), "nextCursor": "again"}


@mode("cursor_endless")
class CursorEndless(Paginate):
    """Every page names a new cursor and holds two new tools, for ever."""

    pages = 0

    def list_page(self, cursor: Any) -> Message:
        page = self.pages if cursor is not None else 0
        self.pages = page + 1
        return {"tools": self.page_tools(page), "nextCursor": f"c{page + 1}"}


@mode("cursor_number")
class CursorNumber(Paginate):
    """nextCursor is the number 1 instead of a string, then absent; the number or its text is accepted."""

    def list_page(self, cursor: Any) -> Message:
        if cursor is None:
            return {"tools": self.tools(), "nextCursor": 1}
        return {"tools": self.page_tools(1)}


@mode("cursor_empty_page")
class CursorEmptyPage(Paginate):
    """The second page holds no tools but names a third page (a server that filters after cutting pages)."""

    def page_tools(self, page: int) -> list[Any]:
        return [] if page == 1 else super().page_tools(page)


@mode("cursor_overlap")
class CursorOverlap(Paginate):
    """Each page repeats the first page's tools before its own."""

    def page_tools(self, page: int) -> list[Any]:
        own = super().page_tools(page)
        return own if page == 0 else [*super().page_tools(0), *own]


@mode("list_error")
class ListError(Server):
    """tools/list answers with JSON-RPC error -32603."""

    def list_page(self, cursor: Any) -> Message:
        raise RpcError(INTERNAL_ERROR, "Internal error: tool registry is not available")


@mode("list_once")
class ListOnce(Server):
    """The first tools/list of a process is answered, later ones fail with -32603."""

    listed = False

    def list_page(self, cursor: Any) -> Message | None:
        if self.listed:
            raise RpcError(INTERNAL_ERROR, "tools were listed already")
        self.listed = True
        return super().list_page(cursor)


@mode("empty_tools")
class EmptyTools(Server):
    """A tools server whose list is empty (a request to a model must not carry an empty `tools`)."""

    def tools(self) -> list[Any]:
        return []


class OddList(Server):
    """A server whose tools/list result has the wrong shape."""

    def list_page(self, cursor: Any) -> Message | None:
        shapes: dict[str, Message] = {
            "list_null": {"tools": None},
            "list_missing": {},
            "list_object": {"tools": {entry["name"]: entry for entry in self.tools()}},
            "list_extra": {"tools": self.tools(), "nextCursor": None, "_meta": None, "ttlMs": 5, "x": [None]},
        }
        return shapes[self.mode]


@mode("list_bare")
class ListBare(Server):
    """tools/list answers with the array itself instead of an object."""

    def handle(self, request: Request) -> None:
        if request.method == "tools/list":
            self.respond(request, result=self.tools())
        else:
            super().handle(request)


@mode("list_shuffled")
class ListShuffled(Server):
    """Each listing comes in another order, with the keys of each tool in another order too."""

    listings = 0

    def tools(self) -> list[Any]:
        entries = [*super().tools(), *(tool(f"t{number}", f"Number {number}.") for number in range(8))]
        self.listings += 1
        turn = (self.listings + int(time.time() * 1000)) % len(entries)
        shuffled = entries[turn:] + entries[:turn]
        return [dict(reversed(entry.items())) for entry in shuffled] if self.listings % 2 else shuffled


@mode("list_changed")
class ListChanged(Server):
    """Tool `grow` adds tool grownN and sends list_changed; `shrink` removes it; `edit` changes a schema.

    `state`=FILE keeps the list across processes. `edit` makes `echo` take `message` beside `text`.
    """

    extra = (tool("grow", "Add a tool."), tool("shrink", "Remove a tool."), tool("edit", "Change echo."))
    grown = 0
    edited = 0

    def now(self) -> Message:
        return {"grown": self.grown, "edited": self.edited, **recall(self.options.get("state"))}

    def change(self, **values: int) -> None:
        self.grown = values.get("grown", self.grown)
        self.edited = values.get("edited", self.edited)
        remember(self.options.get("state"), **values)
        self.notify("notifications/tools/list_changed")

    def tools(self) -> list[Any]:
        now = self.now()
        entries = super().tools()
        if now["edited"]:
            both = {"text": STRING, "message": {"type": "string", "description": f"edit {now['edited']}"}}
            entries[0] = tool("echo", f"Return the text (edit {now['edited']}).", both, "text")
        return [*entries, *(tool(f"grown{n}", f"Grown {n}.") for n in range(1, now["grown"] + 1))]

    def call(self, request: Request, name: str, arguments: Any) -> Message | None:
        now = self.now()
        if name.startswith("grown") and name[5:].isdigit() and 0 < int(name[5:]) <= now["grown"]:
            return text(f"called:{name}")
        return super().call(request, name, arguments)

    def tool_grow(self, request: Request, arguments: Message) -> Message:
        self.change(grown=self.now()["grown"] + 1)
        return text(f"grown{self.now()['grown']} added")

    def tool_shrink(self, request: Request, arguments: Message) -> Message:
        self.change(grown=max(0, self.now()["grown"] - 1))
        return text(f"{self.now()['grown']} grown tools left")

    def tool_edit(self, request: Request, arguments: Message) -> Message:
        self.change(edited=self.now()["edited"] + 1)
        return text("echo edited")


@mode("list_changed_flood")
class ListChangedFlood(Server):
    """Sends `count` (200) list_changed notifications at `initialized` and one in each tools/list."""

    def initialized(self) -> None:
        for _ in range(int(self.number("count", 200))):
            self.notify("notifications/tools/list_changed")

    def list_page(self, cursor: Any) -> Message | None:
        self.notify("notifications/tools/list_changed")
        return super().list_page(cursor)


for _name, _oddity in {
    "list_null": "tools/list answers with `tools: null`.",
    "list_missing": "tools/list answers with an object without `tools`.",
    "list_object": "tools/list answers with an object of tools keyed by name instead of an array.",
    "list_extra": "tools/list answers with null and unknown keys beside the tools.",
}.items():
    register(_name, OddList, _oddity)
