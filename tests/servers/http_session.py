"""Sessions over HTTP: one server object each, and the queues from which its streams are fed."""

from __future__ import annotations

import json
import queue
import threading
import uuid

from catalogue import create

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    from base import Server
    from wire import Log, Message

    # Encoded message and whether it is the answer; None ends the stream.
    Stream: TypeAlias = "queue.Queue[tuple[bytes, bool] | None]"


HALF, CUT = b"half", b"cut"
"""Put into a stream: half an event is sent, then nothing more, or the connection is cut."""


class HttpChannel:
    """A queue per running request, and a standing one for all that belongs to no request."""

    def __init__(self) -> None:
        self.standing: Stream = queue.Queue()
        self._running: dict[str, Stream] = {}

    def open(self, request_id: object) -> Stream:
        stream: Stream = queue.Queue()
        self._running[json.dumps(request_id)] = stream
        return stream

    def deliver(self, data: bytes, chunks: Iterable[bytes], related: object, final: bool) -> None:
        key = json.dumps(related)
        stream = self._running.get(key, self.standing)
        if final:
            self._running.pop(key, None)
        stream.put((data, final))

    def write(self, *chunks: bytes) -> None:
        """Drop it: noise on stdout does not exist over HTTP."""

    def close(self) -> None:
        for stream in (self.standing, *self._running.values()):
            stream.put(None)


class Session:
    """One session: its id, its server object, how many requests it got."""

    def __init__(self, mode: str, options: dict[str, str], log: Log) -> None:
        self.id = uuid.uuid4().hex
        self.requests = 0  # all but initialize
        self.resumable: Stream | None = None
        self.channel = HttpChannel()
        self.server: Server = create(mode, options, self.channel, log)
        self.server.started()

    def feed(self, message: Message) -> None:
        """Give the message to the server beside the caller, who reads the stream meanwhile."""
        threading.Thread(target=self.server.receive, args=(message,), name="test server", daemon=True).start()


class Sessions:
    """All sessions of this process."""

    def __init__(self, mode: str, options: dict[str, str], log: Log) -> None:
        self.mode, self.options, self.log = mode, options, log
        self._open: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._open)

    def new(self) -> Session:
        session = Session(self.mode, self.options, self.log)
        self._open[session.id] = session
        self.log("session", id=session.id)
        return session

    def get(self, session_id: str | None) -> Session | None:
        return self._open.get(session_id or "")

    def all(self) -> list[Session]:
        return list(self._open.values())

    def forget(self, session_id: str | None = None) -> None:
        """Drop one session, or all as a restart does; their streams end."""
        for key in [session_id] if session_id else list(self._open):
            session = self._open.pop(key, None)
            if session is not None:
                session.channel.close()
