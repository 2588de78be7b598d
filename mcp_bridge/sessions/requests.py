"""The requests of one session, each within its limit and with the reason where it has no result."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..aio import Deadline
from ..config.server_config import ServerConfig
from ..errors import BridgeError, CallTimeout, Cause, NotSent, RpcError, ServerUnavailable
from ..transport.channel import NO_HEADERS
from ..transport.correlation import Request
from .dispatcher import Dispatcher
from .error_answers import ends_session, meaning

logger = logging.getLogger(__name__)

CANCELLED = "cancelled by the caller"


@dataclass(frozen=True, eq=False)
class ToolRequest:
    """The tool that a `tools/call` calls. No two are equal, even with the same name and arguments."""

    name: str
    arguments: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=lambda: NO_HEADERS)
    """HTTP headers for this request alone."""

    def params(self) -> dict[str, Any]:
        """Return the parameters of the request."""
        return {"name": self.name, "arguments": dict(self.arguments)}


class Requests:
    """Sends requests on a session and waits for their results.

    `retire` is called when no further call may begin on the session: one was abandoned, or the server has
    forgotten the session.
    """

    def __init__(
        self, config: ServerConfig, dispatcher: Dispatcher, redact: Callable[[str], str], retire: Callable[[], None]
    ) -> None:
        self.dispatcher = dispatcher
        self.phase = "initialize"
        """The method last sent, for the reason of a failure."""
        self._server = config.name
        self._is_process = config.transport == "stdio"
        self._redact = redact
        self._retire: Callable[[], None] | None = retire
        self._first: tuple[ToolRequest, Request] | None = None

    async def ask(self, method: str, params: dict[str, Any], seconds: float | None = None) -> dict[str, Any]:
        """Send a request and return its raw result, without interpreting errors.

        Raises `RpcError`, `ConnectionError` if the session ends, `asyncio.TimeoutError` after `seconds`.
        """
        request = self.dispatcher.begin(method, params)
        try:
            await asyncio.wait({request.result}, timeout=seconds)
            if not request.result.done():
                raise asyncio.TimeoutError
            return request.result.result()
        finally:
            self.dispatcher.abandon(request)

    async def request(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and return its raw result.

        Raises `RpcError`, `ServerUnavailable` if the session ends, `CallTimeout`.
        """
        return await self._result(self.dispatcher.begin(method, params), Deadline(seconds, seconds))

    def begin_first(self, call: ToolRequest) -> None:
        """Begin the call that the session was opened for, before its caller learns that the session is ready."""
        self._first = call, self._begin_call(call)

    def has_begun(self, call: ToolRequest | None) -> bool:
        """Tell whether `begin_first` has begun this call, and `call_tool` has not taken it up yet."""
        return self._first is not None and self._first[0] is call

    def abandon_first(self) -> None:
        """Cancel the call that the session was opened for: its caller has gone."""
        if self._first is not None:
            self._abandon(self._first[1], CANCELLED)

    async def call_tool(self, call: ToolRequest, deadline: Deadline) -> dict[str, Any]:
        """Call a tool and return the raw result; `Session.call_tool` lists what is raised."""
        first, self._first = self._first, None
        request = first[1] if first is not None and first[0] is call else self._begin_call(call)
        try:
            return await self._result(request, deadline)
        except (CallTimeout, asyncio.CancelledError) as reason:
            self._abandon(request, "timeout" if isinstance(reason, CallTimeout) else CANCELLED)
            raise

    def interpret(self, error: RpcError) -> BridgeError:
        """Return what an error response means for the caller; it may retire the session."""
        meant = meaning(error, self._server, self._redact)
        if ends_session(meant):
            self._retire_session()
        return meant

    async def loss(self, kind: type[ServerUnavailable]) -> ServerUnavailable:
        """Return the error for a request on a session that has ended."""
        text = "the session is closed"
        if self.dispatcher.ended:
            end = await self.dispatcher.channel.describe_end()
            text = self._redact(f"the server stopped during {self.phase} ({end})")
        cause: Cause | None = "exit" if self._is_process else None
        return kind(text, server=self._server, cause=cause)

    def on_progress(self, request_id: int | None, text: str) -> None:
        """Log progress, and let the limit of the request begin anew."""
        logger.debug("[%s] progress: %s", self._server, self._redact(text))
        request = self.dispatcher.requests.get(request_id)
        if request is not None:
            request.progress_at = asyncio.get_running_loop().time()

    def close(self) -> None:
        """Let go of the session, which is over, and of a call that no caller has taken up."""
        self._retire = None
        if self._first is not None:
            self.dispatcher.abandon(self._first[1])

    def _retire_session(self) -> None:
        if self._retire is not None:
            self._retire()

    def _begin_call(self, call: ToolRequest) -> Request:
        return self.dispatcher.begin("tools/call", call.params(), call.headers)

    async def _result(self, request: Request, deadline: Deadline) -> dict[str, Any]:
        self.phase = request.method
        request.progress_at = asyncio.get_running_loop().time()
        dispatcher = self.dispatcher
        try:
            return await deadline.wait(request.result, lambda: request.progress_at, self._server)
        except RpcError as error:
            raise self.interpret(error) from None
        except ConnectionError:
            kind = ServerUnavailable if dispatcher.requests.may_have_run(request) else NotSent
            raise await self.loss(kind) from None
        finally:
            dispatcher.abandon(request)

    def _abandon(self, request: Request, reason: str) -> None:
        """Tell the server to stop working on a call, and begin no other on this session."""
        self._retire_session()
        self.dispatcher.cancel(request, reason)
        self.dispatcher.abandon(request)
