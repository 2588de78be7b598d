"""An OpenAI-compatible server that answers by a script, so that a chat needs no model.

The script is a function from the decoded request to a `Reply`. Chat completions
are served plain and streamed, embeddings and the model list well enough for a
host that asks for them. All requests are kept for the test to look at.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DEFAULT_DIMENSIONS = 1024
"""Length of an embedding when the request does not say."""

CLOSE_SECONDS = 5.0
"""Longest wait for the server's thread to end."""


@dataclass(frozen=True)
class ToolCall:
    """One call the model wants to make."""

    name: str
    arguments: dict[str, Any]
    id: str = field(default_factory=lambda: f"call_{uuid.uuid4().hex[:24]}")

    def as_json(self) -> dict[str, Any]:
        """Render the call as a message holds it: the arguments are JSON text."""
        function = {"name": self.name, "arguments": json.dumps(self.arguments, ensure_ascii=False)}
        return {"id": self.id, "type": "function", "function": function}


@dataclass(frozen=True)
class Reply:
    """What the model answers: text, calls, or both."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()

    @property
    def finish_reason(self) -> str:
        """Return why the model stopped."""
        return "tool_calls" if self.calls else "stop"


USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
"""Some bots count what they spend."""

Script = Callable[[dict[str, Any]], Reply]


def offered_tools(request: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Map the names of the tools in a request to their function definitions."""
    return {tool["function"]["name"]: tool["function"] for tool in request.get("tools") or []}


def text_of(message: dict[str, Any]) -> str:
    """Return the text of a message, whose content is a string or a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


def tool_results(request: dict[str, Any], name: str) -> list[str]:
    """Return what a tool of this name answered in the conversation, oldest first."""
    calls: dict[str, str] = {}
    results = []
    for message in request["messages"]:
        for call in message.get("tool_calls") or []:
            calls[call["id"]] = call["function"]["name"]
        if message["role"] == "tool" and calls.get(message.get("tool_call_id", "")) == name:
            results.append(text_of(message))
    return results


def _embedding(text: str, dimensions: int) -> list[float]:
    """Make a vector that is the same for the same text."""
    digest = hashlib.sha256(text.encode()).digest()
    return [digest[index % len(digest)] / 255 for index in range(dimensions)]


class _Handler(BaseHTTPRequestHandler):
    """Serve one connection; the server holds the script and the record."""

    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Keep quiet: the test prints the record when it fails."""

    def do_GET(self) -> None:
        """List one model."""
        self._send({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        """Answer a completion or an embedding."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/embeddings"):
            self._send(self._embeddings(request))
            return
        try:
            reply = self.server.answer(request)
        except Exception as error:  # A mistake in the script: the test must see it, not the bot alone.
            self.server.failures.append(error)
            self._send({"error": {"message": repr(error), "type": "script"}}, status=400)
            return
        if request.get("stream"):
            self._stream(request, reply)
        else:
            self._send(self._completion(request, reply))

    def _embeddings(self, request: dict[str, Any]) -> dict[str, Any]:
        texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
        dimensions = request.get("dimensions") or DEFAULT_DIMENSIONS
        data = [
            {"object": "embedding", "index": index, "embedding": _embedding(str(text), dimensions)}
            for index, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return {"object": "list", "model": request.get("model"), "data": data, "usage": usage}

    @staticmethod
    def _envelope(request: dict[str, Any], kind: str) -> dict[str, Any]:
        identity = f"chatcmpl-{uuid.uuid4().hex}"
        return {"id": identity, "object": kind, "created": int(time.time()), "model": request["model"]}

    def _completion(self, request: dict[str, Any], reply: Reply) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = [call.as_json() for call in reply.calls]
        choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
        return {**self._envelope(request, "chat.completion"), "choices": [choice], "usage": USAGE}

    def _stream(self, request: dict[str, Any], reply: Reply) -> None:
        """Send the reply as server-sent events: role, text, calls, end, usage."""
        deltas: list[tuple[dict[str, Any], str | None]] = [({"role": "assistant", "content": ""}, None)]
        if reply.text:
            deltas.append(({"content": reply.text}, None))
        for index, call in enumerate(reply.calls):
            deltas.append(({"tool_calls": [{"index": index, **call.as_json()}]}, None))
        deltas.append(({}, reply.finish_reason))
        envelope = self._envelope(request, "chat.completion.chunk")
        chunks = [
            {**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]} for delta, reason in deltas
        ]
        chunks.append({**envelope, "choices": [], "usage": USAGE})
        events = [*(json.dumps(chunk, ensure_ascii=False) for chunk in chunks), "[DONE]"]
        self._send_bytes("".join(f"data: {event}\n\n" for event in events).encode(), "text/event-stream", 200)

    def _send(self, body: dict[str, Any], status: int = 200) -> None:
        self._send_bytes(json.dumps(body, ensure_ascii=False).encode(), "application/json", status)

    def _send_bytes(self, body: bytes, kind: str, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    """The listening socket with what its handlers share."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.failures: list[Exception] = []
        self.lock = threading.Lock()

    def answer(self, request: dict[str, Any]) -> Reply:
        with self.lock:  # One at a time: a script may keep state.
            self.requests.append(request)
            return self.script(request)

    def handle_error(self, *_: object) -> None:
        """Ignore a bot that hangs up in the middle: it is being stopped."""


class ScriptedLLM:
    """The server, running for the time of a ``with`` statement."""

    def __init__(self, script: Script) -> None:
        """Listen on a free port of 127.0.0.1; serve when entered."""
        self._server = _Server(script)
        self._thread = threading.Thread(target=self._server.serve_forever, name="scripted-llm", daemon=True)

    def __enter__(self) -> ScriptedLLM:
        """Start serving."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(CLOSE_SECONDS)

    @property
    def base_url(self) -> str:
        """Return the address to configure in the host."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Return the completion requests so far, oldest first."""
        return list(self._server.requests)

    @property
    def failures(self) -> list[Exception]:
        """Return what the script itself raised."""
        return list(self._server.failures)
