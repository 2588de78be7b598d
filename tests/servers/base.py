"""The well-behaved server whose hooks the modes override, and the registry of modes."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, ClassVar, TypeVar

    from wire import Channel, Log, Message

    ServerType = TypeVar("ServerType", bound="type[Server]")

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


class RpcError(Exception):
    """Raised by a hook: the request is answered with this JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.body: Message = {"code": code, "message": message}
        if data is not None:
            self.body["data"] = data


class Request:
    """One request of the client; `cancelled` is set when a notification for it arrives."""

    def __init__(self, message: Message) -> None:
        self.id: Any = message["id"]
        self.method = str(message["method"])
        params = message.get("params")
        self.params: Message = params if isinstance(params, dict) else {}
        self.cancelled = threading.Event()

    @property
    def token(self) -> Any:
        meta = self.params.get("_meta")
        return meta.get("progressToken") if isinstance(meta, dict) else None


def tool(name: str, description: str, properties: Message | None = None, *required: str) -> Message:
    """Describe a tool the ordinary way."""
    schema: Message = {"type": "object", "properties": properties or {}}
    if required:
        schema["required"] = list(required)
    return {"name": name, "description": description, "inputSchema": schema}


def text(value: str) -> Message:
    """Make the result that holds one text block."""
    return {"content": [{"type": "text", "text": value}]}


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


STRING: Message = {"type": "string"}
NUMBER: Message = {"type": "number"}
ECHO = tool("echo", "Return the text.", {"text": STRING}, "text")
PID = tool("pid", "Return the process id of this server.")
COUNT = tool("count", "Return how often this was called in this process.")
SLEEP = tool("sleep", "Wait, then return.", {"seconds": NUMBER}, "seconds")


class Server:
    """A plain, well-behaved server.

    A tool `x` is a description in `tools()` and a method `tool_x(request, arguments)`. Names in `threaded`
    run beside the reader, so that cancellations and answers are read meanwhile; all else is in order.
    """

    capabilities: ClassVar[Message] = {"tools": {"listChanged": True}}
    extra: ClassVar[tuple[Message, ...]] = ()
    threaded: ClassVar[tuple[str, ...]] = ("sleep",)
    stdio_only: ClassVar[bool] = False

    def __init__(self, mode: str, options: dict[str, str], channel: Channel, log: Log) -> None:
        self.mode = mode
        self.options = options
        self.channel = channel
        self.log = log
        self.headers: dict[str, str] = {}  # of the last HTTP request
        self.counted = 0
        self.running: dict[Any, Request] = {}
        self._next_id = 1000
        self._waiting: dict[Any, Callable[[Message], None]] = {}

    def number(self, key: str, default: float) -> float:
        return float(self.options.get(key, default))

    # --- life of the process (stdio) ---

    def started(self) -> None:
        """Run before anything is read."""

    def eof(self) -> None:
        """Run when standard input ends."""
        self.log.leave(0)

    def signalled(self, number: int) -> None:
        """Die of the signal, as a program without a handler would."""
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    # --- what the client asks ---

    def initialize(self, request: Request) -> Message | None:
        asked = request.params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
            "capabilities": self.capabilities,
            "serverInfo": {"name": "odd-" + self.mode, "version": "1.0"},
        }

    def initialized(self) -> None:
        """Run when `notifications/initialized` arrives."""

    def tools(self) -> list[Any]:
        known = {"count": COUNT, "sleep": SLEEP}
        asked = [known[name] for name in self.options.get("tools", "").split(",") if name in known]
        return [ECHO, PID, *self.extra, *asked]

    def list_page(self, cursor: Any) -> Message | None:
        return {"tools": self.tools()}

    def call(self, request: Request, name: str, arguments: Any) -> Message | None:
        """Run a tool; None means that there is no answer, or that it was sent already."""
        method = getattr(self, "tool_" + name, None)
        if method is None:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}")
        result: Message | None = method(request, arguments if isinstance(arguments, dict) else {})
        return result

    def other(self, request: Request) -> Message | None:
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {request.method}")

    def notified(self, method: str, params: Message) -> None:
        """Run for every notification but `initialized`."""

    # --- the tools that (nearly) every mode has ---

    def tool_echo(self, request: Request, arguments: Message) -> Message | None:
        return text(str(arguments.get("text", "")))

    def tool_pid(self, request: Request, arguments: Message) -> Message | None:
        return text(str(self.log.pid))

    def tool_count(self, request: Request, arguments: Message) -> Message | None:
        self.counted += 1
        return text(str(self.counted))

    def tool_sleep(self, request: Request, arguments: Message) -> Message | None:
        seconds = float(arguments.get("seconds", 1))
        time.sleep(seconds)
        return text(f"slept {seconds:g} s")

    # --- the wire ---

    def encode(self, message: Any) -> bytes:
        """Turn a message into JSON bytes; NaN and lone surrogates go out the way Python writes them."""
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

    def frame(self, data: bytes) -> Iterable[bytes]:
        """Cut one encoded message into the pieces written to the pipe."""
        return (data + b"\n",)

    def answer_id(self, request: Request) -> Any:
        """Choose the id that the answer carries."""
        return request.id

    def send(self, message: Any, related: object = None, final: bool = False) -> None:
        self.send_bytes(self.encode(message), related, final)

    def send_bytes(self, data: bytes, related: object = None, final: bool = False) -> None:
        self.channel.deliver(data, self.frame(data), related, final)

    def notify(self, method: str, params: Any = None, related: object = None) -> None:
        message: Message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(message, related)

    def respond(self, request: Request, **body: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": self.answer_id(request), **body}, request.id, final=True)

    def ask(
        self,
        method: str,
        params: Any = None,
        then: Callable[[Message], None] = lambda answer: None,
        request_id: Any = None,
        related: object = None,
    ) -> None:
        """Send a request to the client; `then` is run with its answer, on the reader's thread."""
        if request_id is None:
            self._next_id += 1
            request_id = self._next_id
        self._waiting[request_id] = then
        message: Message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not None:
            message["params"] = params
        self.send(message, related)

    def ask_and_wait(
        self, method: str, params: Any, seconds: float, request_id: Any = None, related: object = None
    ) -> Message | None:
        """Send a request and wait for its answer, at most `seconds`; never on the reader's thread."""
        answered = threading.Event()
        answers: list[Message] = []

        def take(answer: Message) -> None:
            answers.append(answer)
            answered.set()

        self.ask(method, params, take, request_id, related)
        answered.wait(seconds)
        return answers[0] if answers else None

    def spawn(self, function: Callable[..., object], *arguments: Any) -> None:
        threading.Thread(target=function, args=arguments, name="test server", daemon=True).start()

    # --- dispatch ---

    def receive_line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except ValueError:
            self.log("raw", text=line.decode("utf-8", "replace"))
            return
        self.receive(message)

    def receive(self, message: Any) -> None:
        self.log("recv", message=message)
        if not isinstance(message, dict):
            return
        if "method" not in message:
            then = self._waiting.pop(message.get("id"), None)
            if then is not None:
                then(message)
        elif "id" not in message:
            params = message.get("params")
            self.notification(str(message["method"]), params if isinstance(params, dict) else {})
        else:
            request = Request(message)
            if request.method == "tools/call" and request.params.get("name") in self.threaded:
                self.spawn(self.handle, request)
            else:
                self.handle(request)

    def notification(self, method: str, params: Message) -> None:
        if method == "notifications/initialized":
            self.initialized()
            return
        if method == "notifications/cancelled":
            request = self.running.get(params.get("requestId"))
            if request is not None:
                request.cancelled.set()
        self.notified(method, params)

    def handle(self, request: Request) -> None:
        self.running[request.id] = request
        try:
            result = self.dispatch(request)
        except RpcError as error:
            self.respond(request, error=error.body)
        except (KeyError, TypeError, ValueError) as error:  # arguments that a tool cannot take
            self.respond(request, error={"code": INVALID_PARAMS, "message": f"Invalid params: {error!r}"})
        else:
            if result is not None:
                self.respond(request, result=result)
        finally:
            self.running.pop(request.id, None)

    def dispatch(self, request: Request) -> Message | None:
        match request.method:
            case "initialize":
                return self.initialize(request)
            case "ping":
                return {}
            case "tools/list":
                return self.list_page(request.params.get("cursor"))
            case "tools/call":
                return self.call(request, str(request.params.get("name")), request.params.get("arguments"))
            case _:
                return self.other(request)


MODES: dict[str, tuple[type[Server], str]] = {}


def register(name: str, server: type[Server], oddity: str) -> None:
    if name in MODES:
        raise ValueError(f"two modes are called {name}")
    MODES[name] = (server, oddity)


def mode(name: str) -> Callable[[ServerType], ServerType]:
    """Register a server class; the first line of its docstring is what `odd_server.py list` shows."""

    def add(server: ServerType) -> ServerType:
        register(name, server, (server.__doc__ or "").strip().split("\n", 1)[0])
        return server

    return add


mode("normal")(Server)
