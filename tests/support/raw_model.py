"""A model API that answers with prepared chat completions, streamed piece by piece where that is asked for."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


class Turn:
    """One answer: the deltas of its stream, and the same as a whole message."""

    def __init__(self, deltas: list[Json], message: Json, *, status: int = 200) -> None:
        self.deltas = deltas
        self.message = message
        self.status = status

    @property
    def finish_reason(self) -> str:
        return "tool_calls" if self.message.get("tool_calls") else "stop"


def saying(text: str) -> Turn:
    """Return the turn that says a text."""
    pieces: list[Json] = [{"role": "assistant", "content": None}, {"content": text[:2]}, {"content": text[2:]}]
    return Turn(pieces, {"role": "assistant", "content": text})


class RawModel(ThreadingHTTPServer):
    """Gives the prepared turns one by one, the last one again and again; keeps the requests."""

    daemon_threads = True

    def __init__(self, turns: list[Turn]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.turns = turns
        self.requests: list[Json] = []
        self.keys: list[str | None] = []

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def next_turn(self, request: Json) -> Turn:
        self.requests.append(request)
        return self.turns[min(len(self.requests), len(self.turns)) - 1]


class _Handler(BaseHTTPRequestHandler):
    server: RawModel

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.keys.append(self.headers.get("Authorization"))
        turn = self.server.next_turn(request)
        if turn.status != 200:
            self.answer("application/json", json.dumps({"error": {"message": "no"}}), turn.status)
        elif request.get("stream"):
            if not turn.deltas:  # not even the last event
                self.answer("text/event-stream", "")
                return
            chunks = [self.chunk([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in turn.deltas]
            chunks.append(self.chunk([{"index": 0, "delta": {}, "finish_reason": turn.finish_reason}]))
            chunks.append(self.chunk([]))  # some send the usage last, without any choice
            body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
            self.answer("text/event-stream", body)
        else:
            choice = {"index": 0, "message": turn.message, "finish_reason": turn.finish_reason}
            self.answer("application/json", json.dumps({**self.chunk([choice]), "object": "chat.completion"}))

    def chunk(self, choices: list[Json]) -> Json:
        head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        return {**head, "choices": choices}

    def answer(self, kind: str, body: str, status: int = 200) -> None:
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def raw_model(*turns: Turn) -> Iterator[RawModel]:
    """Run a model with these turns."""
    model = RawModel(list(turns))
    thread = threading.Thread(target=model.serve_forever, name="test server", daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.shutdown()
        model.server_close()
        thread.join()
