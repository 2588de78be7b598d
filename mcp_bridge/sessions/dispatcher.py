"""Sends the requests of one session over its channel, and hands each response to the request it is for.

One register (`Correlator`) holds every request from its beginning to its response; there is no session of
the SDK behind it. `docs/architecture.md` has the reasons.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from ..transport.channel import NO_HEADERS, Channel
from ..transport.correlation import Correlator, Request
from ..transport.filter import Incoming, MessageFilter
from ..transport.framing import Message, UnreadableAnswer

logger = logging.getLogger(__name__)

DOUBT_SECONDS = 0.5
"""How long a better response is awaited after one that could not be read: lines get torn."""
CANCEL_SECONDS = 0.5
"""How long a `notifications/cancelled` may take to leave before the session is torn down."""


class Dispatcher:
    """The requests and responses of one session. Enter it to read the channel, leave it to end all requests.

    A request is sent by a task of its own, so that neither a server that does not read nor a caller that is
    cancelled leaves half a message behind. `on_end` is called when the channel has ended, before the requests
    that are still open fail with `ConnectionError`.
    """

    def __init__(
        self, channel: Channel, requests: Correlator, message_filter: MessageFilter, on_end: Callable[[], None]
    ) -> None:
        self.channel = channel
        self.requests = requests
        self.ended = False
        """Whether the channel has ended, as opposed to having been left."""
        self._filter = message_filter
        self._on_end: Callable[[], None] | None = on_end
        self._reader: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._cancellations: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Dispatcher:
        self._reader = asyncio.create_task(self._read(), name="mcp reader")
        return self

    async def __aexit__(self, *error: object) -> None:
        self._filter.mute()
        tasks = [*self._tasks, *([self._reader] if self._reader is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # With their tracebacks and callbacks they would keep all this until the next full collection.
        self._reader, self._on_end = None, None
        self._tasks.clear()
        self._fail_all()

    @property
    def busy(self) -> bool:
        """Whether a caller waits for the result of a request."""
        return any(not request.result.done() for request in self.requests)

    def begin(self, method: str, params: dict[str, Any], headers: Mapping[str, str] = NO_HEADERS) -> Request:
        """Begin a request; a caller that stops waiting for its result must `abandon` it.

        A `tools/call` gets the request's id as its progress token.
        """
        loop = asyncio.get_running_loop()
        request = self.requests.begin(method, loop.create_future())
        request.progress_at = loop.time()
        if method == "tools/call":
            params = {**params, "_meta": {**params.get("_meta", {}), "progressToken": request.id}}
        message = {"jsonrpc": "2.0", "id": request.id, "method": method}
        if params:
            message["params"] = params
        if self.ended:
            request.fail(ConnectionError("the session has ended"))
        else:
            self._start(self._send(message, headers, request), f"mcp {method}")
        return request

    async def notify(self, method: str) -> None:
        """Send a notification; if the channel has ended, the reader notices."""
        await self._send({"jsonrpc": "2.0", "method": method}, NO_HEADERS)

    def abandon(self, request: Request) -> None:
        """Wait no longer for the result of a request; a late response is dropped."""
        if not request.result.cancel() and not request.result.cancelled():
            request.result.exception()  # retrieved, so that asyncio does not report it as lost

    def cancel(self, request: Request, reason: str) -> None:
        """Notify the server, once, that a request is cancelled."""
        message = self.requests.cancel(request, reason)
        if message is not None:
            self._cancellations.add(self._start(self._send_cancellation(message), "mcp cancellation"))

    def forget(self, method: str) -> None:
        """Expect nothing of the open requests of a method any more, whether or not the server responds."""
        for request in self.requests:
            if request.method == method:
                request.forgotten = True

    async def cancellations_sent(self) -> None:
        """Wait until every `notifications/cancelled` has left or cannot leave; `CANCEL_SECONDS` at most."""
        if self._cancellations:
            await asyncio.wait(self._cancellations)

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._cancellations.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.debug("a message could not be sent: %r", error)

    async def _send(self, message: Message, headers: Mapping[str, str], request: Request | None = None) -> None:
        if request is not None and request.result.cancelled():
            return  # its caller has gone before anything was sent
        # It counts as sent from the first byte on, also if this task is cancelled meanwhile.
        self.requests.mark_sent(message)
        try:
            await self.channel.send(message, headers)
        except OSError as error:  # the reader notices the end
            logger.debug("could not send: %s", error)
            if request is not None:
                request.sent = False

    async def _send_cancellation(self, message: Message) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._send(message, NO_HEADERS), CANCEL_SECONDS)

    async def _read(self) -> None:
        """Take in what the server sends until the channel ends."""
        try:
            while (message := await self.channel.receive()) is not None:
                try:
                    await self._take(self._incoming(message))
                except Exception:  # a fault of ours must cost this message alone
                    logger.debug("a message of the server was lost", exc_info=True)
        except Exception:  # the transport's: it has failed, so the channel has ended
            logger.debug("the channel failed", exc_info=True)
        self.ended = True  # first: callers that learn of the end then ask for its reason
        if self._on_end is not None:
            self._on_end()
        self._fail_all()

    def _incoming(self, message: Message | UnreadableAnswer) -> Incoming:
        return Incoming(doubtful=message) if isinstance(message, UnreadableAnswer) else self._filter.incoming(message)

    async def _take(self, incoming: Incoming) -> None:
        if incoming.request is not None and incoming.response is not None:
            incoming.request.resolve(incoming.response)
        if incoming.reply is not None:
            # A server that has stopped reading loses its reply, and we do not lose our reader.
            with contextlib.suppress(OSError):
                await self.channel.send(incoming.reply)
        if incoming.doubtful is not None:
            self._start(self._settle(incoming.doubtful), "mcp doubtful response")

    async def _settle(self, doubtful: UnreadableAnswer) -> None:
        """Fail the request whose response was unreadable, unless a readable one arrives within `DOUBT_SECONDS`."""
        await asyncio.sleep(DOUBT_SECONDS)
        await self._take(self._filter.unreadable(doubtful))

    def _fail_all(self) -> None:
        for request in self.requests:
            request.fail(ConnectionError("the session has ended"))
