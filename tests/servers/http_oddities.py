"""What a server or a proxy in front of it does wrong with HTTP: `http=NAME`.

Each oddity is a function that sees one request before it is routed, and returns True when it has answered it.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from http_session import CUT, HALF

if TYPE_CHECKING:
    from collections.abc import Callable

    from http_exchange import Exchange

    Oddity = Callable[[Exchange], bool]

CALL = "tools/call"
HTML = b"<html><head><title>Sign in</title></head><body>Please sign in.</body></html>"


def _error(text: str, request_id: str = "null", code: int = -32000) -> str:
    return f'{{"jsonrpc":"2.0","id":{request_id},"error":{{"code":{code},"message":"{text}"}}}}'


_NESTED = "Error POSTing to endpoint (HTTP 400): No valid session ID provided"
FORGOTTEN = {
    "typescript": (400, "application/json", _error("Bad Request: No valid session ID provided")),
    "python": (400, "application/json", _error("Bad Request: Missing session ID", '"server-error"', -32600)),
    "uninitialized": (400, "application/json", _error("Bad Request: Server not initialized")),
    "rust": (401, "text/plain", "Unauthorized: Session not found"),
    "hub": (400, "text/plain", "Invalid or missing session ID"),
    "proxy": (500, "application/json", f'{{"error":"{_NESTED}"}}'),
    "busy": (503, "application/json", _error("Unknown Mcp-Session-Id, reconnect")),
    "gone": (410, "text/plain", ""),
    "chinese": (500, "text/plain; charset=utf-8", "会话不存在或已过期"),
}
"""How servers say, with `forgotten=NAME`, that they do not know a session; the specification wants 404."""


ODDITIES: dict[str, Oddity] = {}


def oddity(name: str) -> Callable[[Oddity], Oddity]:
    def add(function: Oddity) -> Oddity:
        ODDITIES[name] = function
        return function

    return add


def always(status: int, body: bytes, kind: str, **headers: str) -> Oddity:
    def refuse(exchange: Exchange) -> bool:
        if exchange.strikes(str(status)):
            exchange.handler.reply(status, body, kind, **headers)
            return True
        return False

    refuse.__doc__ = f"Every request is answered with {status}."
    return refuse


BEARER = 'Bearer realm="odd", error="invalid_token"'
ODDITIES["400"] = always(400, b"Bad Request: Unsupported protocol version", "text/plain")
ODDITIES["401"] = always(401, b'{"error":"invalid_token"}', "application/json", **{"WWW-Authenticate": BEARER})
ODDITIES["403"] = always(403, b'{"detail":"Forbidden"}', "application/json")
ODDITIES["404"] = always(404, b"Not Found", "text/plain")
ODDITIES["406"] = always(406, b"Not Acceptable", "text/plain")
ODDITIES["429"] = always(429, b"slow down", "text/plain", **{"Retry-After": "1"})
ODDITIES["500"] = always(500, b"<h1>Internal Server Error</h1>", "text/html")
ODDITIES["502"] = always(502, b"<h1>Bad Gateway</h1>", "text/html")
ODDITIES["503"] = always(503, b"", "text/plain", **{"Retry-After": "1"})


@oddity("404_session")
def expire(exchange: Exchange) -> bool:
    """Each session answers `after` (2) requests beside initialize, then 404: it has expired."""
    session = exchange.handler.server.sessions.get(exchange.headers.get("mcp-session-id"))
    if session is not None and exchange.is_request and exchange.rpc != "initialize":
        session.requests += 1
        if session.requests > int(exchange.options.get("after", 2)):
            exchange.handler.server.sessions.forget(session.id)
    return False


@oddity("404_calls")
def expire_calls(exchange: Exchange) -> bool:
    """Every tools/call (`on`) is answered with 404, in any session: repeating it does not help."""
    if exchange.strikes("404_calls", CALL):
        exchange.handler.no_session(True)
        return True
    return False


@oddity("restart_sessions")
def restart(exchange: Exchange) -> bool:
    """All sessions are forgotten once, at the tools/call (`on`) number `after`+1 (1+1), as a restart does."""
    hits = exchange.handler.server.hits
    after = int(exchange.options.get("after", 1))
    if exchange.strikes("restart_sessions", CALL) and hits["restart_sessions"] == after + 1:
        exchange.handler.server.sessions.forget()
    return False


@oddity("no_session")
def no_session(exchange: Exchange) -> bool:
    """The server is stateless: no Mcp-Session-Id is given or asked for."""
    exchange.without_sessions = True
    return False


@oddity("drop_mid_call")
def drop(exchange: Exchange) -> bool:
    """The first tools/call (`on`, `times`=1) is read, then the connection closes without a byte."""
    if exchange.strikes("drop_mid_call", CALL, 1):
        exchange.handler.server.log("drop")
        exchange.cut()
    return False


@oddity("reset_mid_call")
def reset(exchange: Exchange) -> bool:
    """The first tools/call (`on`, `times`=1) is read, then the connection is reset (RST)."""
    if exchange.strikes("reset_mid_call", CALL, 1):
        exchange.handler.server.log("drop")
        exchange.cut(reset=True)
    return False


@oddity("drop_mid_stream")
def drop_stream(exchange: Exchange) -> bool:
    """The answer to the first tools/call (`on`, `times`=1) is a stream that breaks off inside an event."""
    exchange.broken = exchange.strikes("drop_mid_stream", CALL, 1)
    return False


@oddity("silent_mid_stream")
def silent_stream(exchange: Exchange) -> bool:
    """The answer to the first tools/call (`on`, `times`=1) is a stream that falls silent inside an event."""
    exchange.silent = exchange.strikes("silent_mid_stream", CALL, 1)
    return False


def half(name: str, item: bytes, doc: str) -> None:
    def break_off(exchange: Exchange) -> bool:
        if not exchange.strikes(name, CALL, 1):
            return False
        for session in exchange.handler.server.sessions.all():
            session.channel.standing.put((item, False))
        exchange.handler.reply(202)
        return True

    break_off.__doc__ = f"The first tools/call (`on`, `times`=1) is accepted (202); then {doc}."
    ODDITIES[name] = break_off


half("silent_sse", HALF, "the open streams fall silent inside an event")
half("cut_sse", CUT, "the connections of the open streams are cut inside an event")


@oddity("drop_sse")
def drop_sse(exchange: Exchange) -> bool:
    """All streams of the server end at the first tools/call (`on`, `times`=1), which is accepted (202)."""
    if exchange.strikes("drop_sse", CALL, 1):
        exchange.handler.server.sessions.forget()
        exchange.handler.reply(202)
        return True
    return False


@oddity("hang")
def hang(exchange: Exchange) -> bool:
    """Requests (`on`) are read and never answered; the connection stays open."""
    while exchange.strikes("hang"):
        time.sleep(3600)
    return False


@oddity("slow")
def slow(exchange: Exchange) -> bool:
    """Every request (`on`) waits `delay` (1) s before anything is sent."""
    if exchange.strikes("slow"):
        time.sleep(float(exchange.options.get("delay", 1)))
    return False


@oddity("sse_only")
def sse_only(exchange: Exchange) -> bool:
    """POST to /mcp or /sse gives `status` (405) and GET opens the old SSE transport: a server of 2024."""
    handler = exchange.handler
    if handler.command != "GET" and "/messages" not in handler.path:
        handler.reply(int(exchange.options.get("status", 405)), b"", Allow="GET")
        return True
    if handler.command == "GET" and handler.path.partition("?")[0].rstrip("/").endswith("/mcp"):
        handler.get_sse()
        return True
    return False


@oddity("redirect_slash")
def redirect_slash(exchange: Exchange) -> bool:
    """/mcp is redirected to /mcp/ (`status`=307), as Starlette's mounts do."""
    path, mark, query = exchange.handler.path.partition("?")
    if path.endswith("/mcp"):
        return redirect(exchange, f"{path}/{mark}{query}")
    return False


@oddity("redirect_other")
def redirect_other(exchange: Exchange) -> bool:
    """Everything is redirected (`status`=307) to another origin, `url`: credentials must not follow."""
    return redirect(exchange, exchange.options.get("url", "http://other-host.invalid/mcp"))


@oddity("redirect_loop")
def redirect_loop(exchange: Exchange) -> bool:
    """Everything is redirected to itself, for ever."""
    return redirect(exchange, exchange.handler.path)


def redirect(exchange: Exchange, target: str) -> bool:
    exchange.handler.reply(int(exchange.options.get("status", 307)), Location=target)
    return True


def bodies(name: str, status: int, body: bytes, kind: str, doc: str) -> None:
    def answer(exchange: Exchange) -> bool:
        if exchange.is_request and exchange.strikes(name, CALL):
            exchange.handler.reply(status, body, kind)
            return True
        return False

    answer.__doc__ = f"tools/call (`on`) is answered with {doc}."
    ODDITIES[name] = answer


bodies("html", 200, HTML, "text/html", "200 and an HTML page (a captive portal, a login page)")
bodies("bad_json", 200, b'{"jsonrpc":"2.0","id":', "application/json", "200 and broken JSON")
bodies("empty_200", 200, b"", "application/json", "200 and no body")
bodies("accepted", 202, b"", "application/json", "202 and nothing else")
bodies("empty_stream", 200, b": nothing\n\n", "text/event-stream", "a stream that ends without an answer")
bodies("bad_event", 200, b"event: message\ndata: {oops\n\n", "text/event-stream", "an event that is not JSON")


def refused_by_name(status: int) -> None:
    def answer(exchange: Exchange) -> bool:
        if exchange.is_request and exchange.strikes(f"{status}_rpc", CALL):
            own = json.dumps(exchange.handler.message["id"])
            exchange.handler.reply(status, _error("session not found: tab-5", own).encode())
            return True
        return False

    answer.__doc__ = f"tools/call (`on`) is answered with {status} and a JSON-RPC error of its own id."
    ODDITIES[f"{status}_rpc"] = answer


for status in (200, 400, 500):
    refused_by_name(status)


@oddity("notification_200")
def notification_200(exchange: Exchange) -> bool:
    """Notifications are answered with 200 and the body `null` instead of 202."""
    exchange.odd_accept = True
    return False


@oddity("strict_version")
def strict_version(exchange: Exchange) -> bool:
    """400 when MCP-Protocol-Version is missing after initialize, or Accept lacks one of its two types."""
    accepted = exchange.headers.get("accept", "")
    post = exchange.handler.command == "POST"
    bad_accept = post and not ("application/json" in accepted and "text/event-stream" in accepted)
    missing = exchange.rpc != "initialize" and "mcp-protocol-version" not in exchange.headers
    if bad_accept or missing:
        exchange.handler.reply(400, b"missing MCP-Protocol-Version or Accept", "text/plain")
        return True
    return False


@oddity("sse_resume")
def sse_resume(exchange: Exchange) -> bool:
    """The stream of a tools/call closes at once with an event id; the answer is on GET with Last-Event-ID."""
    exchange.resume = exchange.strikes("sse_resume", CALL)
    return False


def flavours(**docs: str) -> None:
    for flavour, doc in docs.items():

        def choose(exchange: Exchange, flavour: str = flavour) -> bool:
            exchange.flavour = flavour
            return False

        choose.__doc__ = f"Streams are written with {doc}; use with answer=sse."
        ODDITIES["sse_" + flavour] = choose


flavours(
    crlf="CR LF line ends",
    multiline="one `data:` line per line of indented JSON",
    comments="comments, events named `ping` and no space behind `data:`",
    bom="a BOM in front of the first event",
    no_name="events without a name",
)
