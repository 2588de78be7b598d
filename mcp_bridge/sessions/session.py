"""One MCP session, from the start of its server to the end of it, owned by one task.

The SDK's sessions and anyio's scopes must be left by the task that entered them, so the
owner task does both, and whoever uses the session only waits on futures: any task may
call, cancel or close. A session is closed in the background unless somebody waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import _sdk_loader
from ..aio import Deadline
from ..config.server_config import ServerConfig
from ..errors import BridgeError, RpcError, ServerUnavailable
from ..text.cleaning import clean_label, truncate
from ..transport.channel import SideOutput, session_streams
from ..transport.early_initialize import greet
from ..transport.http.failure import root_cause
from ..transport.route import ChannelOpener, Route, leads_elsewhere
from .error_answers import refusal
from .in_flight import ToolCall
from .initialize import InitializeResult, initialize, initialize_params, let_roots_arrive
from .requests import Conversation

if TYPE_CHECKING:
    from mcp import ClientSession


logger = logging.getLogger(__name__)

LAST_ANSWER_SECONDS = 0.5
"""How long the SDK's session may take to hand out what came before the end, and to end all other requests."""
PING_SECONDS = 1.0
"""How long the answer to a ping is waited for; a server that gives none is used all the same."""
_TEXT_CHARS = 500


class Connection:
    """A session with one server, which begins to open as soon as this is made; `close_soon` or `close` ends it."""

    def __init__(self, config: ServerConfig, route: Route, redact: Callable[[str], str]) -> None:
        self.server = config.name
        self.agreement: InitializeResult | None = None
        self.on_list_changed: Callable[[Connection], None] = lambda connection: None
        self.on_end: Callable[[Connection], None] = lambda connection: None
        self._route = route
        self._redact = redact
        self._talk = Conversation(config, redact, lambda: self.on_list_changed(self))
        self._is_process = config.transport == "stdio"
        self._session: ClientSession | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters: set[asyncio.Future[None]] = set()
        self._closing = False
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
        over = self._talk.ended or self._closing or self._talk.retired
        return self._ready.done() and not over

    @property
    def busy(self) -> bool:
        """Whether requests are running on it."""
        return bool(self._talk.requests)

    @property
    def asides(self) -> SideOutput:
        """What the server's process has said beside its messages."""
        return self._talk.asides

    @property
    def closing(self) -> bool:
        """Whether somebody here wants it to end, as opposed to the server having stopped."""
        return self._closing

    @property
    def lost(self) -> bool:
        """Whether it ended without anybody here wanting that."""
        return self._talk.ended and not self._closing

    def prepare(self, call: ToolCall) -> None:
        """Begin this call during the handshake, if it can leave right behind that; `call_tool` then takes it up."""
        self._talk.prepare(call)

    async def wait_ready(self, seconds: float) -> None:
        """Wait until the handshake is done. Raises `ServerUnavailable`; the session then ends by itself."""
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        timer = loop.call_later(seconds, _wake, waiter)
        self._waiters.add(waiter)
        try:
            if not self._ready.done():
                await waiter
            if not self._ready.done():
                raise ServerUnavailable(
                    f"no answer to {self._talk.phase} within {round(seconds, 1):g} s (connect_timeout)",
                    server=self.server,
                    cause="timeout",
                )
            self._ready.result()
        except BaseException:
            self._talk.abandon_prepared()
            self.close_soon()
            raise
        finally:
            timer.cancel()
            self._waiters.discard(waiter)

    async def rehearse(self) -> None:
        """Let a new process answer a `ping`, and forget what comes of it.

        The first request after the handshake is slow in many servers, which make or import
        things for it: half as long again in one made with the SDK 1.30.
        """
        if self._is_process:
            with contextlib.suppress(BridgeError):
                await self.request("ping", {}, PING_SECONDS)
            self._talk.filter.forget("ping")

    async def request(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and return the raw result.

        Raises `RpcError`, `ServerUnavailable` if the session ends, `CallTimeout`.
        """
        return await self._talk.request(self._session if self.alive else None, method, params, seconds)

    async def call_tool(self, call: ToolCall, deadline: Deadline) -> dict[str, Any]:
        """Call a tool and return the raw result.

        Raises as `request` does, and `NotSent` if the call cannot have reached the server. If
        the caller is cancelled or the time is up, the server is told, and no further call
        begins on this session: whoever leased it ends it when the calls beside are done.
        """
        return await self._talk.call_tool(self._session if self.alive else None, call, deadline)

    def close_soon(self) -> None:
        """Begin to end the session; returns at once."""
        self._closing = True
        self._over.set()
        if not self._ready.done():
            self._owner.cancel()

    async def close(self) -> None:
        """End the session and wait until its server is gone."""
        self.close_soon()
        await asyncio.wait({self._owner})

    async def _own(self) -> None:
        """Open the session, keep it until it ends or is closed, close it: all in this task."""
        try:
            await self._live()
        except BridgeError as error:
            self._fail(error)
        except asyncio.CancelledError:
            self._fail(ServerUnavailable("the session was closed", server=self.server))
        except Exception as error:  # a fault of ours or the SDK's must cost this session alone
            root = root_cause(error)
            text = truncate(self._redact(clean_label(f"{type(root).__name__}: {root}")), _TEXT_CHARS)
            logger.debug("session of '%s' failed", self.server, exc_info=True)
            self._fail(ServerUnavailable(f"the session failed during {self._talk.phase}: {text}", server=self.server))
        finally:
            self._end()
            await self._talk.close()
            self.on_end(self)

    async def _live(self) -> None:
        """Open a channel the first way that leads to the server, and live on it."""
        openers = self._route.openers()
        for opener in openers:
            try:
                await self._live_on(opener)
                return
            except ServerUnavailable as error:
                if self._ready.done() or not leads_elsewhere(error) or opener is openers[-1]:
                    self._route.unsettle()
                    raise
                logger.debug("'%s' speaks another transport: %s", self.server, self._redact(error.message))
                self._talk.ended = False
                self._over.clear()

    async def _live_on(self, opener: ChannelOpener) -> None:
        refusal: ServerUnavailable | None
        async with opener() as channel:
            self._talk.channel = channel
            self._talk.phase = "initialize"
            if self._is_process and not _sdk_loader.is_here():
                channel = await greet(channel, initialize_params(self._talk.filter.capabilities()))
            _sdk = await _sdk_loader.bring()
            streams = session_streams(channel, self._talk.filter, self._end)
            try:
                async with streams as (read, write), _sdk.session(read, write) as session:
                    self._talk.begin_prepared(session)
                    refusal = await self._initialize(session)
                    if refusal is None:
                        self._route.settle(opener)
                        await self._serve(session)
            except Exception:  # the SDK 1.25 stumbles over several requests that end at once
                if self._ready.done() or not self._talk.ended:
                    raise
                refusal = await self._talk.loss(ServerUnavailable)
        if refusal is not None:  # raised inside, it would come out wrapped by the SDK's task groups
            raise refusal

    async def _serve(self, session: ClientSession) -> None:
        """Let callers use the session until it ends or somebody closes it."""
        self._session = session
        if not self._ready.done():
            self._ready.set_result(None)
            self._wake_waiters()
        try:
            await self._over.wait()
            self._session = None  # no call begins now
            # An answer may have come just before the end, and the SDK is to take in what its caller has already.
            await self._talk.requests.settle(LAST_ANSWER_SECONDS, answered=self._closing)
        finally:  # the SDK 1.25 cancels us when it stumbles over several requests that end at once
            self._session = None
            self._talk.requests.cancel()
        await self._talk.farewells()

    async def _initialize(self, session: ClientSession) -> ServerUnavailable | None:
        """Do the handshake; return why it failed, if it did."""
        try:
            self.agreement = await initialize(session, partial(self._ask, session), self._talk.filter.capabilities())
            if "roots" in self._talk.filter.capabilities():
                await let_roots_arrive(partial(self._ping, session), self._talk.filter)
        except ServerUnavailable as error:
            return ServerUnavailable(
                self._redact(error.message), server=self.server, retry=error.retry, cause=error.cause
            )
        except (RpcError, ConnectionError) as error:
            if self._talk.ended or not isinstance(error, RpcError):
                return await self._talk.loss(ServerUnavailable)
            return refusal(self._talk.answered(error))
        return None

    async def _ask(self, session: ClientSession, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Make a request of the handshake, whose time is limited by whoever waits for the session."""
        request = self._talk.requests.begin(session, method, params)
        try:
            return await request.answer
        finally:
            self._talk.requests.leave(request)

    async def _ping(self, session: ClientSession) -> None:
        """Wait for the answer to a `ping`, and forget what comes of it."""
        request = self._talk.requests.begin(session, "ping", {})
        try:
            await asyncio.wait({request.answer}, timeout=PING_SECONDS)
        finally:
            self._talk.filter.forget("ping")
            self._talk.requests.leave(request)

    def _end(self) -> None:
        self._talk.ended = True
        self._over.set()

    def _fail(self, error: BridgeError) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)
            self._ready.exception()  # seen: nobody may be waiting any more
            self._wake_waiters()

    def _wake_waiters(self) -> None:
        """Wake whoever waits for the handshake, at once: by way of `_ready` it would take another turn of the loop."""
        for waiter in self._waiters:
            _wake(waiter)


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
