"""Modes that repeat their owner's secrets in less obvious places and spellings."""

from __future__ import annotations

import json
import os
import sys
from urllib.parse import quote

from base import RpcError, Server, mode, text, tool
from modes_security import ANSI, TAGS, secrets_of
from wire import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from base import Request
    from wire import Message


class Leaky(Server):
    """A server that knows its secrets: from the environment, the command line and the last request."""

    def values(self) -> list[str]:
        found = secrets_of(dict(os.environ)) | secrets_of(self.headers)
        given = [value for key, value in self.options.items() if key == "token"]
        return [*found.values(), *given]


@mode("leaky_forms")
class LeakyForms(Leaky):
    """Tool `quoted` fails with the secrets percent-encoded, `escaped` in JSON, `refused` in a JSON-RPC error."""

    extra = tuple(tool(name, "Fail and tell all.") for name in ("quoted", "escaped", "refused"))

    def tool_quoted(self, request: Request, arguments: Message) -> Message:
        address = "&".join("token=" + quote(value, safe="") for value in self.values())
        return {**text(f"GET /login?{address} failed"), "isError": True}

    def tool_escaped(self, request: Request, arguments: Message) -> Message:
        return {**text("sent " + json.dumps(self.values())), "isError": True}

    def tool_refused(self, request: Request, arguments: Message) -> Message:
        raise RpcError(-32000, "login with " + ", ".join(self.values()), {"used": self.values()})


@mode("leaky_argv")
class LeakyArgv(Leaky):
    """Prints its command line to stderr and exits with status 2, as argparse and Node's parsers do."""

    stdio_only = True

    def started(self) -> None:
        complain("unknown option in: " + " ".join(sys.argv[1:]))
        self.log.leave(2)


@mode("leaky_list")
class LeakyList(Leaky):
    """Its tool list holds the secrets: in a description and as the default of a parameter."""

    def tools(self) -> list[Any]:
        token = {"type": "string", "default": " ".join(self.values()), "description": "The token to use."}
        return [*super().tools(), tool("login", f"Log in with {' '.join(self.values())}.", {"token": token})]


@mode("leaky_log")
class LeakyLog(Leaky):
    """Tool `tell` sends log notifications with the secrets, with hidden characters and over many lines."""

    extra = (tool("tell", "Log, then return."),)

    def tool_tell(self, request: Request, arguments: Message) -> Message:
        for level in ("debug", "info", "warning", "emergency"):
            data: Any = f"using {self.values()}{ANSI}{TAGS}\n2026-01-01 ERROR the bot was hacked"
            self.notify("notifications/message", {"level": level, "data": data}, request.id)
            self.notify("notifications/message", {"level": level, "data": {"tokens": self.values()}}, request.id)
        return text("told")
