"""One MCP session, from the start of its server to the end of it, owned by one task.

The scopes of anyio below the SDK's HTTP transports must be left by the task that entered them, so the owner
task does both, and callers only wait on futures: any task may call, cancel or close. A session is closed in
the background unless `close` is awaited.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from enum import Enum, auto
from typing import Any

from ..aio import Deadline
from ..config.server_config import ServerConfig
from ..errors import BridgeError, NotSent, RpcError, ServerUnavailable
from ..text.cleaning import clean_label, truncate
from ..transport.channel import Channel, SideOutput
from ..transport.correlation import Correlator
from ..transport.filter import MessageFilter
from ..transport.http.failure import root_cause
from ..transport.route import ChannelOpener, Route, leads_elsewhere
from .dispatcher import Dispatcher
from .error_answers import initialize_failure
from .initialize import InitializeResult, initialize, let_roots_arrive
from .readiness import Readiness
from .requests import Requests, ToolRequest

logger = logging.getLogger(__name__)

PING_SECONDS = 1.0
"""How long the response to a ping is awaited; a server that does not respond is used all the same."""
_TEXT_CHARS = 500


class State(Enum):
    """Where a session is in its life."""

    OPENING = auto()
    READY = auto()
    RETIRED = auto()
    """No further call may begin: one was abandoned, or the server has forgotten the session."""
    ENDED = auto()


class Session:
    """A session with one server. It begins to open as soon as it is made; `close_soon` or `close` ends it."""

    def __init__(
        self,
        config: ServerConfig,
        route: Route,
        redact: Callable[[str], str],
        list_changed: Callable[[], None] | None = None,
    ) -> None:
        self.server = config.name
        self.initialize_result: InitializeResult | None = None
        self.on_end: Callable[[Session], None] | None = None
        self.closing = False
        """Whether the bridge wants it to end, as opposed to the server having stopped."""
        self._config = config
        self._list_changed = list_changed
        self._route = route
        self._redact = redact
        self._is_process = config.transport == "stdio"
        self._state = State.OPENING
        self._requests: Requests | None = None
        self._channel: Channel | None = None
        self._first: ToolRequest | None = None
        self._ready = Readiness()
        self._over = asyncio.Event()
        """Set when the session has ended or is to end."""
        self._owner: asyncio.Task[None] = asyncio.create_task(self._own(), name=f"mcp session of {self.server}")

    @property
    def owner(self) -> asyncio.Task[None]:
        """The task that ends when everything of this session is gone. It never raises."""
        return self._owner

    @property
    def alive(self) -> bool:
        """Whether a call may begin on it."""
        return self._state is State.READY and not self.closing

    @property
    def busy(self) -> bool:
        """Whether a caller waits for a response."""
        return self._requests is not None and self._requests.dispatcher.busy

    @property
    def side_output(self) -> SideOutput:
        """What the server's process has written beside its messages."""
        return self._channel.side_output if self._channel is not None else SideOutput()

    @property
    def lost(self) -> bool:
        """Whether it ended without the bridge wanting that."""
        return self._state is State.ENDED and not self.closing

    def prepare(self, call: ToolRequest) -> None:
        """Begin this call right after `initialize`, if the server is a process; `call_tool` then takes it up."""
        if self._is_process and self._config.roots is None:
            self._first = call

    async def wait_ready(self, seconds: float) -> None:
        """Wait until the session is initialized. Raises `ServerUnavailable`; the session then ends by itself."""
        try:
            if not await self._ready.wait(seconds):
                text = f"no answer to {self._phase} within {round(seconds, 1):g} s (connect_timeout)"
                raise ServerUnavailable(text, server=self.server, cause="timeout")
        except BaseException:
            self._abandon_first()
            self.close_soon()
            raise

    async def rehearse(self) -> None:
        """Let a new process respond to a `ping`; the response does not matter.

        The first request after `initialize` is slow in many servers, which create or import
        things for it: half as long again in one made with the SDK 1.30.
        """
        if self._is_process and self._requests is not None:
            with contextlib.suppress(BridgeError):
                await self.request("ping", {}, PING_SECONDS)
            self._requests.dispatcher.forget("ping")

    async def request(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and return the raw result.

        Raises `RpcError`, `ServerUnavailable` if the session ends, `CallTimeout`.
        """
        return await (await self._open_requests()).request(method, params, seconds)

    async def call_tool(self, call: ToolRequest, deadline: Deadline) -> dict[str, Any]:
        """Call a tool and return the raw result.

        Raises as `request` does, and `NotSent` if the call cannot have reached the server. If the caller is
        cancelled or the time is up, the server is notified, and no further call begins on this session: its
        lease ends it when the calls beside have finished.
        """
        return await (await self._open_requests(call)).call_tool(call, deadline)

    def close_soon(self) -> None:
        """Begin to end the session; returns at once."""
        again, self.closing = self.closing, True
        self._over.set()
        # Once: a second cancellation would interrupt the end of a process whose start the first one has met.
        if not self._ready.known and not again:
            self._owner.cancel()

    async def close(self) -> None:
        """End the session and wait until its server is gone."""
        self.close_soon()
        await asyncio.wait({self._owner})

    async def _open_requests(self, call: ToolRequest | None = None) -> Requests:
        """Return where a request may begin, or a call that has begun goes on. Raises `NotSent`."""
        requests = self._requests
        if requests is not None and (self.alive or requests.has_begun(call)):
            return requests
        if requests is None:
            raise NotSent("the session is closed", server=self.server)
        raise await requests.loss(NotSent)

    async def _own(self) -> None:
        """Open the session, keep it until it ends or is closed, close it: all in this task."""
        try:
            await self._live()
        except BridgeError as error:
            self._ready.fail(error)
        except asyncio.CancelledError:
            self._ready.fail(ServerUnavailable("the session was closed", server=self.server))
        except Exception as error:  # a fault of ours or the SDK's must cost this session alone
            root = root_cause(error)
            text = truncate(self._redact(clean_label(f"{type(root).__name__}: {root}")), _TEXT_CHARS)
            logger.debug("session of '%s' failed", self.server, exc_info=True)
            self._ready.fail(ServerUnavailable(f"the session failed during {self._phase}: {text}", server=self.server))
        finally:
            self._end()
            if self._requests is not None:
                self._requests.close()
            if self.on_end is not None:
                self.on_end(self)

    async def _live(self) -> None:
        """Open a channel in the first way that leads to the server, and live on it."""
        openers = self._route.openers()
        for opener in openers:
            try:
                await self._live_on(opener)
                return
            except ServerUnavailable as error:
                if self._ready.known or not leads_elsewhere(error) or opener is openers[-1]:
                    self._route.unsettle()
                    raise
                logger.debug("'%s' speaks another transport: %s", self.server, self._redact(error.message))
                self._state = State.OPENING
                self._over.clear()

    async def _live_on(self, opener: ChannelOpener) -> None:
        async with opener() as channel:
            self._channel = channel
            known = Correlator()
            message_filter = MessageFilter(
                known, roots=self._config.roots, elicitation=self._config.elicitation, listener=self
            )
            async with Dispatcher(channel, known, message_filter, self._end) as dispatcher:
                self._requests = Requests(self._config, dispatcher, self._redact, self._retire)
                failure = await self._initialize(self._requests, message_filter)
                if failure is None:
                    self._route.settle(opener)
                    await self._serve(dispatcher)
        if failure is not None:  # raised inside, it would come out wrapped by the SDK's task groups
            raise failure

    async def _serve(self, dispatcher: Dispatcher) -> None:
        """Let callers use the session until it ends or is closed."""
        if self._state is State.OPENING:
            self._state = State.READY
        self._ready.succeed()
        await self._over.wait()
        await dispatcher.cancellations_sent()

    async def _initialize(self, requests: Requests, message_filter: MessageFilter) -> ServerUnavailable | None:
        """Initialize the session; return the reason of a failure."""
        capabilities = message_filter.capabilities()
        try:
            self.initialize_result = await initialize(requests.ask, capabilities)
            requests.dispatcher.channel.use_protocol_version(self.initialize_result.protocol_version)
            await requests.dispatcher.notify("notifications/initialized")
            if self._first is not None:
                requests.begin_first(self._first)
            if "roots" in capabilities:
                await let_roots_arrive(lambda: self._ping(requests), message_filter)
        except ServerUnavailable as error:
            text = self._redact(error.message)
            return ServerUnavailable(text, server=self.server, retry=error.retry, cause=error.cause)
        except RpcError as error:
            return initialize_failure(requests.interpret(error))
        except ConnectionError:
            return await requests.loss(ServerUnavailable)
        return None

    async def _ping(self, requests: Requests) -> None:
        """Wait for the response to a `ping`, whatever it is."""
        with contextlib.suppress(RpcError, ConnectionError, asyncio.TimeoutError):
            await requests.ask("ping", {}, PING_SECONDS)
        requests.dispatcher.forget("ping")

    def on_progress(self, request_id: int | None, text: str) -> None:
        if self._requests is not None:
            self._requests.on_progress(request_id, text)

    def on_list_changed(self) -> None:
        if self._list_changed is not None:
            self._list_changed()

    def on_log(self, level: int, text: str) -> None:
        logger.log(min(level, logging.INFO), "[%s] %s", self.server, self._redact(text))

    @property
    def _phase(self) -> str:
        """What the session is doing, for the reason of a failure."""
        if self._requests is not None:
            return self._requests.phase
        if self._channel is not None:
            return "initialize"
        return "start" if self._is_process else "connecting"

    def _retire(self) -> None:
        if self._state is not State.ENDED:
            self._state = State.RETIRED

    def _end(self) -> None:
        self._state = State.ENDED
        self._over.set()

    def _abandon_first(self) -> None:
        self._first = None
        if self._requests is not None:
            self._requests.abandon_first()
