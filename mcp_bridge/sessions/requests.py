"""What is said on one session: our requests, each with its answer or the reason why there is none."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..aio import Deadline
from ..config.server_config import ServerConfig
from ..errors import BridgeError, CallTimeout, Cause, NotSent, RpcError, ServerUnavailable
from ..transport.channel import Channel, SideOutput
from ..transport.filter import Hooks, MessageFilter
from .error_answers import ends_session, meaning
from .in_flight import InFlight, Request, ToolCall

if TYPE_CHECKING:
    from mcp import ClientSession


logger = logging.getLogger(__name__)

FAREWELL_SECONDS = 0.5
"""How long a cancellation may take to leave before the session is torn down."""
CANCELLED = "cancelled by the caller"


@dataclass
class _Prepared:
    """The call that a session is opened for, and its request once that has begun."""

    call: ToolCall
    token: int
    request: Request | None = None


class Conversation:
    """The talk on one session. Whoever owns the session sets `channel`, `phase` and `ended`.

    `session` is None, where a caller hands one over, when no call may begin on it.
    """

    def __init__(self, config: ServerConfig, redact: Callable[[str], str], on_list_changed: Callable[[], None]) -> None:
        self.channel: Channel | None = None
        self.phase = "start" if config.transport == "stdio" else "connecting"
        self.ended = False
        self.retired = False
        """Whether no further call may begin: one was given up, or the server has forgotten the session."""
        self.requests = InFlight()
        hooks = Hooks(self._progress, on_list_changed, self._log, self.requests.take)
        self.filter = MessageFilter(roots=config.roots, elicitation=config.elicitation, hooks=hooks)
        self._server = config.name
        self._is_process = config.transport == "stdio"
        self._redact = redact
        self._tokens = itertools.count(1)
        self._progress_at: dict[object, float] = {}
        self._prepared: _Prepared | None = None
        self._farewells: set[asyncio.Task[None]] = set()

    @property
    def asides(self) -> SideOutput:
        """What the server's process has said beside its messages."""
        return self.channel.asides if self.channel is not None else SideOutput()

    def prepare(self, call: ToolCall) -> None:
        """Have this call begun during the handshake, if it can leave right behind that; `call_tool` takes it up."""
        if self._is_process and "roots" not in self.filter.capabilities():
            self._prepared = _Prepared(call, next(self._tokens))

    def begin_prepared(self, session: ClientSession) -> None:
        """Begin the call that was prepared, if one was."""
        if (first := self._prepared) is not None:
            first.request = self.requests.begin(session, "tools/call", first.call.params(first.token))

    def abandon_prepared(self) -> None:
        """Give up the call that was prepared: it may have left in this very moment."""
        if (first := self._prepared) is not None:
            self._abandon(first.token, CANCELLED)
            self._leave_prepared()

    async def request(
        self, session: ClientSession | None, method: str, params: dict[str, Any], seconds: float
    ) -> dict[str, Any]:
        """Send a request and return the raw result.

        Raises `RpcError`, `ServerUnavailable` if the session ends, `CallTimeout`.
        """
        token = next(self._tokens)  # not sent: no progress is asked for, but each request has its own limit
        return await self._answer(await self._begin(session, method, params), method, token, Deadline(seconds, seconds))

    async def call_tool(self, session: ClientSession | None, call: ToolCall, deadline: Deadline) -> dict[str, Any]:
        """Call a tool and return the raw result; `Connection.call_tool` says what is raised."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None and prepared.call is call and prepared.request is not None:
            token, request = prepared.token, prepared.request
        else:
            token = next(self._tokens)
            request = await self._begin(session, "tools/call", call.params(token))
        try:
            return await self._answer(request, "tools/call", token, deadline)
        except (CallTimeout, asyncio.CancelledError) as reason:
            self._abandon(token, "timeout" if isinstance(reason, CallTimeout) else CANCELLED)
            raise

    def answered(self, error: RpcError) -> BridgeError:
        """Return what an error answer means for its caller; the session itself may be over by it."""
        meant = meaning(error, self._server, self._redact)
        self.retired = self.retired or ends_session(meant)
        return meant

    async def loss(self, kind: type[ServerUnavailable]) -> ServerUnavailable:
        """Return the error for a request whose session has ended."""
        cause: Cause | None = "exit" if self._is_process else None
        return kind(await self._why_ended(), server=self._server, cause=cause)

    async def farewells(self) -> None:
        """Wait until the server has been told of the calls that were given up, or cannot be."""
        if self._farewells:
            await asyncio.wait(self._farewells)

    async def close(self) -> None:
        """End all requests and wait for that; nothing that the server says is told any more."""
        await self.requests.close()
        self._leave_prepared()  # whoever still takes it up learns that it may have run
        self.filter.mute()

    async def _begin(self, session: ClientSession | None, method: str, params: dict[str, Any]) -> Request:
        if session is None:
            raise NotSent(await self._why_ended(), server=self._server)
        return self.requests.begin(session, method, params)

    async def _answer(self, request: Request, method: str, token: object, deadline: Deadline) -> dict[str, Any]:
        self.phase = method
        try:
            self._progress_at[token] = asyncio.get_running_loop().time()
            return await deadline.wait(request.answer, lambda: self._progress_at[token], self._server)
        except (RpcError, ConnectionError) as error:
            if isinstance(error, RpcError) and not self.ended:
                raise self.answered(error) from None
            kind: type[ServerUnavailable] = ServerUnavailable if self.filter.may_have_run(token) else NotSent
            raise await self.loss(kind) from None
        finally:
            self.requests.leave(request)
            self._progress_at.pop(token, None)

    def _leave_prepared(self) -> None:
        """Leave the request that was prepared, if nobody has taken it up."""
        if self._prepared is not None and self._prepared.request is not None:
            self.requests.leave(self._prepared.request)

    def _abandon(self, token: object, reason: str) -> None:
        """Tell the server to stop working on a call, and begin no other on this session."""
        self.retired = True
        channel, farewell = self.channel, self.filter.cancelled(token, reason)
        if channel is not None and farewell is not None:
            self._farewells.add(asyncio.create_task(_bid(channel, farewell), name="mcp cancellation"))

    def _progress(self, token: object, text: str) -> None:
        logger.debug("[%s] progress: %s", self._server, self._redact(text))
        if token in self._progress_at:
            self._progress_at[token] = asyncio.get_running_loop().time()

    def _log(self, level: int, text: str) -> None:
        logger.log(min(level, logging.INFO), "[%s] %s", self._server, self._redact(text))

    async def _why_ended(self) -> str:
        if self.channel is None or not self.ended:
            return "the session is closed"
        return self._redact(f"the server stopped during {self.phase} ({await self.channel.describe_end()})")


async def _bid(channel: Channel, farewell: dict[str, Any]) -> None:
    try:
        await asyncio.wait_for(channel.send(farewell), FAREWELL_SECONDS)
    except (OSError, asyncio.TimeoutError) as error:
        logger.debug("the cancellation could not be sent: %r", error)
