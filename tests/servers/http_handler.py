"""The HTTP side: routing, streamable HTTP, the old SSE transport, and the switches for tests."""

from __future__ import annotations

import json
import queue
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from http_exchange import Exchange
from http_oddities import FORGOTTEN, ODDITIES
from http_session import CUT, HALF, HttpChannel, Session, Sessions

if TYPE_CHECKING:
    from collections.abc import Callable

    from http_session import Stream
    from wire import Log, Message


class HttpServer(ThreadingHTTPServer):
    """The listening socket with what all requests share."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, mode: str, options: dict[str, str], log: Log) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.options = options
        self.log = log
        self.sessions = Sessions(mode, options, log)
        self.only_session = ""  # with `no_session` all requests share one
        self.hits: dict[str, int] = {}  # how often each oddity struck

    @staticmethod
    def no_channel() -> HttpChannel:
        return HttpChannel()

    def handle_error(self, request: Any, client_address: Any) -> None:
        self.log("client_gone", error=repr(sys.exc_info()[1]))


class Handler(BaseHTTPRequestHandler):
    """One connection. `exchange` is what oddities see of the current request."""

    server: HttpServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes; without this each answer costs 40 ms

    def log_message(self, format: str, *args: Any) -> None:
        """Keep stderr quiet; the log has it all."""

    def send_response(self, code: int, message: str | None = None) -> None:
        self.server.log("http_status", path=self.path, status=code)
        super().send_response(code, message)

    # --- routing ---

    def do_GET(self) -> None:
        self.route(self.get_stream, self.get_sse)

    def do_POST(self) -> None:
        self.route(self.post, self.post_on_sse)

    def do_DELETE(self) -> None:
        self.route(self.delete, self.post_on_sse)

    def route(self, streamable: Callable[[], None], sse: Callable[[], None]) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.log("http", method=self.command, path=self.path, headers=headers)
        path = urlsplit(self.path).path
        if path.startswith("/_odd/"):
            self.steer(path.removeprefix("/_odd/"))
            return
        try:
            self.message: Any = json.loads(body) if body else None
        except ValueError:
            self.server.log("raw", text=body.decode("utf-8", "replace"))
            self.reply(400, b"not JSON", "text/plain")
            return
        self.exchange = Exchange(self, headers, self.message)
        for name in self.server.options.get("http", "").split(","):
            if name and ODDITIES[name](self.exchange):
                return
        token = self.server.options.get("auth")
        if token is not None and headers.get("authorization") != f"Bearer {token}":
            self.reply(401, b'{"error":"invalid_token"}', **{"WWW-Authenticate": "Bearer"})
            return
        mount = self.server.options.get("mount", "")
        last = path.rstrip("/").rsplit("/", 1)[-1]
        match last if path.startswith(mount + "/") else "":
            case "mcp":
                streamable()
            case "sse":
                sse()
            case "messages" if self.command == "POST":
                self.post_message()
            case _:
                self.reply(404, b"not found", "text/plain")

    def steer(self, order: str) -> None:
        if order == "restart":
            self.server.sessions.forget()
        elif order == "set":
            self.server.options.update(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
            self.server.hits.clear()
        self.reply(200, json.dumps({"sessions": len(self.server.sessions)}).encode())

    # --- writing ---

    def reply(self, status: int, body: bytes = b"", kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        if body:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def start_stream(self, **headers: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")

    def end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def event(self, data: bytes, name: str = "message") -> None:
        self.chunk(self.exchange.style(b"event: " + name.encode() + b"\n", data))

    def drain(self, stream: Stream, until_final: bool) -> None:
        """Send what comes; comments keep an idle stream open and show that the client is gone."""
        pause = float(self.server.options.get("keepalive", 5))
        while True:
            try:
                item = stream.get(timeout=pause)
            except queue.Empty:
                self.chunk(b": keep-alive\n\n")
                continue
            if item is None:
                break
            if item[0] in (HALF, CUT):
                self.exchange.half(cut=item[0] == CUT)
            self.event(item[0])
            if until_final and item[1]:
                break
        self.end_stream()

    # --- streamable HTTP ---

    def find_session(self) -> Session | None:
        """Return the request's session, or answer 400 or 404 and return None."""
        if self.exchange.without_sessions:
            return self.server.sessions.get(self.server.only_session) or self.first_session()
        session_id = self.headers.get("Mcp-Session-Id")
        session = self.server.sessions.get(session_id)
        if session is None:
            self.no_session(bool(session_id))
        return session

    def first_session(self) -> Session:
        session = self.server.sessions.new()
        self.server.only_session = session.id
        return session

    def no_session(self, expired: bool) -> None:
        if expired and (style := FORGOTTEN.get(self.server.options.get("forgotten", ""))) is not None:
            status, kind, body = style
            self.reply(status, body.encode(), kind)
            return
        text = "Session not found" if expired else "Bad Request: no Mcp-Session-Id"
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": text}}
        self.reply(404 if expired else 400, json.dumps(error).encode())

    def post(self) -> None:
        message = self.message
        if not isinstance(message, dict):
            self.reply(400, b"one message per POST", "text/plain")
            return
        extra: dict[str, str] = {}
        if message.get("method") == "initialize" and not self.exchange.without_sessions:
            session: Session | None = self.server.sessions.new()
            assert session is not None
            extra["Mcp-Session-Id"] = session.id
        else:
            session = self.find_session()
        if session is None:
            return
        session.server.headers = self.exchange.headers
        if "method" in message and "id" in message:
            self.answer(session, message, extra)
        else:
            session.server.receive(message)
            self.exchange.accept()

    def answer(self, session: Session, message: Message, extra: dict[str, str]) -> None:
        stream = session.channel.open(message["id"])
        session.feed(message)
        if self.exchange.resume:
            session.resumable = stream
            self.start_stream(**extra)
            self.chunk(b"id: 1\nretry: 200\ndata: \n\n")
            self.end_stream()
            return
        style = "sse" if self.exchange.broken or self.exchange.silent else self.server.options.get("answer", "auto")
        first = stream.get() if style != "sse" else None
        while style == "json" and first is not None and not first[1]:
            session.channel.standing.put(first)
            first = stream.get()
        if style != "sse" and (first is None or first[1]):
            self.reply(200 if first else 500, first[0] if first else b"", **extra)
            return
        self.start_stream(**extra)
        if first is not None:
            self.event(first[0])
        self.exchange.break_stream()
        self.drain(stream, until_final=True)

    def get_stream(self) -> None:
        if self.server.options.get("get", "stream") != "stream":
            self.reply(405, Allow="POST")
            return
        session = self.find_session()
        if session is None:
            return
        resumed, session.resumable = session.resumable, None
        self.start_stream()
        if resumed is not None and "last-event-id" in self.exchange.headers:
            self.drain(resumed, until_final=True)
        else:
            self.drain(session.channel.standing, until_final=False)

    def delete(self) -> None:
        if self.server.options.get("delete", "200") != "200":
            self.reply(405, Allow="GET, POST")
        elif self.find_session() is not None:
            self.server.sessions.forget(self.headers.get("Mcp-Session-Id"))
            self.reply(200)

    # --- the old SSE transport ---

    def get_sse(self) -> None:
        session = self.server.sessions.new()
        session.server.headers = self.exchange.headers
        self.start_stream()
        self.event(self.exchange.endpoint(session.id).encode(), "endpoint")
        try:
            self.drain(session.channel.standing, until_final=False)
        finally:
            self.server.sessions.forget(session.id)

    def post_message(self) -> None:
        query = dict(parse_qsl(urlsplit(self.path).query))
        session = self.server.sessions.get(query.get("session_id"))
        if session is None:
            self.reply(404, b"Could not find session", "text/plain")
            return
        session.server.headers = self.exchange.headers
        session.feed(self.message)
        self.reply(202, b"Accepted", "text/plain")

    def post_on_sse(self) -> None:
        self.reply(405, Allow="GET")
