"""An MCP server over HTTP in the process of the test, which sends whatever bytes a test has for one tool.

`RawServer(odd)` offers the tools `odd` and `echo`; `odd` sees each request first and returns True when
it has answered it. `old=True` speaks the SSE transport of 2024-11-05 at /sse.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass
class Asked:
    """One HTTP request, and the ways to answer it."""

    server: RawServer
    sock: socket.socket
    method: str
    path: str
    headers: Mapping[str, str]
    message: Json

    @property
    def rpc(self) -> str:
        return str(self.message.get("method", ""))

    @property
    def tool(self) -> str:
        return str(self.message["params"]["name"]) if self.rpc == "tools/call" else ""

    def result(self, text: str, **more: Any) -> Json:
        return self.own(result={"content": [{"type": "text", "text": text}], **more})

    def own(self, **more: Any) -> Json:
        """Return an answer to this very request."""
        return {"jsonrpc": "2.0", "id": self.message.get("id"), **more}

    def error(self, text: str, code: int = -32000) -> Json:
        return self.own(error={"code": code, "message": text})

    def send(self, data: bytes | str) -> bool:
        self.sock.sendall(data.encode() if isinstance(data, str) else data)
        return True

    def reply(
        self, status: int = 200, body: Json | bytes = b"", kind: str = "application/json", **headers: str
    ) -> bool:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(data)}"]
        lines += [f"Content-Type: {kind}"] if kind else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + data)

    def stream(self, events: str = "") -> bool:
        """Begin an event stream, which lasts as long as the connection."""
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        return self.send(head + events)

    def close(self) -> bool:
        self.sock.shutdown(socket.SHUT_RDWR)
        raise ConnectionAbortedError("closed on purpose")


class RawServer:
    """A listening socket; `asked` are the requests so far, as (method, path, JSON-RPC method, headers)."""

    def __init__(
        self, odd: Callable[[Asked], object] = lambda asked: False, *, old: bool = False, session_id: str = "s-1"
    ) -> None:
        self.odd = odd
        self.asked: list[tuple[str, str, str, Mapping[str, str]]] = []
        self.endpoint = "/messages?session_id=1"
        self.session_id = session_id
        self.streams: list[socket.socket] = []
        self._old = old
        self._over = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.origin = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.url = f"{self.origin}/{'sse' if old else 'mcp'}"
        threading.Thread(target=self._accept, name="test server", daemon=True).start()

    def count(self, what: str) -> int:
        """Return how many requests had that HTTP or JSON-RPC method."""
        return sum(what in (method, rpc) for method, _, rpc, _ in self.asked)

    def down(self) -> None:
        """Take no connection any more."""
        self._over.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # also the one that is being waited for
        self._socket.close()

    def tell(self, event: str) -> None:
        """Send an event on all streams of the old transport."""
        for stream in self.streams:
            with contextlib.suppress(OSError):  # of a session that has ended
                stream.sendall(event.encode())

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), name="test server", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            try:
                while words := lines.readline().decode("latin-1").split():
                    headers: dict[str, str] = {}
                    while line := lines.readline().decode("latin-1").strip():
                        name, _, value = line.partition(":")
                        headers[name.lower()] = value.strip()
                    body = lines.read(int(headers.get("content-length", 0)))
                    asked = Asked(self, connection, words[0], words[1], headers, json.loads(body or b"{}"))
                    self.asked.append((asked.method, asked.path, asked.rpc, headers))
                    if not self.odd(asked):
                        self._answer(asked)
            except (OSError, ValueError):
                return  # the client has gone, or a test closed the connection

    def _answer(self, asked: Asked) -> None:
        if self._old:
            self._answer_old(asked)
        elif asked.method == "GET":
            asked.reply(405)
        elif "id" not in asked.message:
            asked.reply(200 if asked.method == "DELETE" else 202)
        else:
            session = {"Mcp_Session_Id": self.session_id} if asked.rpc == "initialize" and self.session_id else {}
            asked.reply(200, self._usual(asked), **session)

    def _answer_old(self, asked: Asked) -> None:
        if asked.method == "GET":
            asked.stream(f"event: endpoint\ndata: {self.endpoint}\n\n")
            self.streams.append(asked.sock)
            while not self._over.wait(0.2):
                asked.send(": idle\n\n")
        else:
            asked.reply(202)
            if "id" in asked.message:
                self.tell(f"data: {json.dumps(self._usual(asked))}\n\n")

    def _usual(self, asked: Asked) -> Json:
        match asked.rpc:
            case "initialize":
                info = {"name": "raw", "version": "1"}
                version = asked.message["params"]["protocolVersion"]
                capabilities: Json = {"tools": {}}
                return asked.own(result={"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})
            case "tools/list":
                tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("odd", "echo")]
                return asked.own(result={"tools": tools})
            case "tools/call":
                return asked.result("hello")
            case _:
                return asked.own(result={})


@contextmanager
def raw_server(
    odd: Callable[[Asked], object] = lambda asked: False, *, old: bool = False, session_id: str = "s-1"
) -> Iterator[RawServer]:
    """Run a server for the length of a test."""
    server = RawServer(odd, old=old, session_id=session_id)
    try:
        yield server
    finally:
        server.down()
