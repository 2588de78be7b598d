"""One HTTP request as oddities see it, and the ways to break off, accept or style its answer."""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from http_handler import Handler


class Exchange:
    """One request as oddities see it, and the flags they set for its answer."""

    def __init__(self, handler: Handler, headers: dict[str, str], message: Any) -> None:
        self.handler = handler
        self.headers = headers
        self.rpc = str(message.get("method", "")) if isinstance(message, dict) else ""
        self.is_request = isinstance(message, dict) and "method" in message and "id" in message
        self.options = handler.server.options
        self.without_sessions = False
        self.resume = False
        self.broken = False
        self.silent = False
        self.odd_accept = False
        self.flavour = ""

    def strikes(self, name: str, on: str = "", times: int = 0) -> bool:
        """Say whether the oddity applies: `on` and `times` of the command line win over the defaults here."""
        method = self.options.get("on", on)
        if method and method != self.rpc:
            return False
        limit = int(self.options.get("times", times))
        hits = self.handler.server.hits
        hits[name] = hits.get(name, 0) + 1
        return not limit or hits[name] <= limit

    def accept(self) -> None:
        """Answer a notification or a response."""
        if self.odd_accept:
            self.handler.reply(200, b"null")
        else:
            self.handler.reply(202)

    def break_stream(self) -> None:
        if self.broken or self.silent:
            self.half(cut=self.broken)

    def half(self, *, cut: bool) -> None:
        """Send half an event; then cut the connection, or be silent for ever."""
        self.handler.chunk(b'event: message\ndata: {"jsonrpc":"2.0",')
        if cut:
            self.cut()
        while True:
            time.sleep(3600)

    def cut(self, reset: bool = False) -> None:
        """Close the connection without another byte; `reset` sends RST, as a killed process does."""
        connection = self.handler.connection
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.handler.rfile.close()  # it holds the socket open otherwise
            connection.close()
        else:
            connection.shutdown(socket.SHUT_RDWR)
        self.handler.close_connection = True
        raise ConnectionAbortedError("cut on purpose")

    def style(self, head: bytes, data: bytes) -> bytes:
        """Write one event the way the chosen flavour does."""
        match self.flavour:
            case "crlf":
                return head.replace(b"\n", b"\r\n") + b"data: " + data + b"\r\n\r\n"
            case "multiline":
                pretty = data
                if data.startswith((b"{", b"[")):
                    pretty = json.dumps(json.loads(data), indent=1, ensure_ascii=False).encode("utf-8", "replace")
                return head + b"".join(b"data: " + line + b"\n" for line in pretty.split(b"\n")) + b"\n"
            case "comments":
                return b": ping\n\n:\n\nevent: ping\ndata: {}\n\n" + head + b"id: 7\ndata:" + data + b"\n\n"
            case "bom":
                self.flavour = ""
                return b"\xef\xbb\xbf" + head + b"data: " + data + b"\n\n"
            case "no_name":
                return (head if b"endpoint" in head else b"") + b"data: " + data + b"\n\n"
            case _:
                return head + b"data: " + data + b"\n\n"

    def endpoint(self, session_id: str) -> str:
        """Say where messages go, as the SSE `endpoint` event does; `absolute` does not know a mount."""
        host = f"http://127.0.0.1:{self.handler.server.server_port}"
        mount = self.options.get("mount", "")
        match self.options.get("endpoint", "absolute"):
            case "relative":
                return f"messages/?session_id={session_id}"
            case "full":
                return f"{host}{mount}/messages/?session_id={session_id}"
            case "other_host":
                other = self.options.get("url", "http://other-host.invalid")
                return f"{other}/messages/?session_id={session_id}"
            case _:
                return f"/messages/?session_id={session_id}"
