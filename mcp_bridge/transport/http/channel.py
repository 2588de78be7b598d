"""Remote servers: streamable HTTP, and the SSE transport of protocol 2024-11-05."""

from __future__ import annotations

import base64
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from ... import _sdk
from ..._version import __version__
from ...aio import run_in_thread
from ...config.server_config import ServerConfig
from ...errors import ServerUnavailable
from ...text.redaction import public_url
from ..channel import NO_HEADERS, SideOutput
from ..framing import Message, UnreadableAnswer
from .addresses import proxy_for
from .certificates import trusted
from .failure import HttpFailure
from .guard import HttpGuard
from .injection import EventInjection
from .sse_guard import SseGuard
from .streamable_guard import StreamableHttpGuard

logger = logging.getLogger(__name__)
httpx = _sdk.httpx

WRITE_SECONDS = 60.0
"""How long the network may take to take a request; how long an answer may take is the caller's."""
FOREVER = 10.0 * 365 * 86400
"""For the SDK's own read limit of event streams: an idle session is alive."""


class HttpChannel:
    """A `Channel` over one of the SDK's HTTP transports."""

    def __init__(self, streams: _sdk.Streams, guard: HttpGuard) -> None:
        self.side_output = SideOutput()
        self._receive, self._send = streams
        self._guard = guard

    async def receive(self) -> Message | UnreadableAnswer | None:
        async for item in self._receive:
            if isinstance(item, Exception):
                logger.debug("dropped by the SDK's transport: %s", self._guard.redact(repr(item)))
            else:
                return self._guard.large_messages.restore(_sdk.to_wire(item))
        return None

    async def send(self, message: Message, headers: Mapping[str, str] = NO_HEADERS) -> None:
        if headers:
            self._guard.extra_headers[str(message["id"])] = headers
        try:
            await self._send.send(_sdk.to_session(message))
        except _sdk.CLOSED as error:
            raise OSError("the session has ended") from error

    def use_protocol_version(self, version: str) -> None:
        self._guard.protocol_version = version

    async def describe_end(self) -> str:
        return self._guard.failure.text if self._guard.failure else "the server ended the connection"


@asynccontextmanager
async def open_http(config: ServerConfig, limit: int, redact: Callable[[str], str]) -> AsyncIterator[HttpChannel]:
    """Open a streamable HTTP session (specification 2025-03-26 and later)."""
    network = await _network(config)
    guard = StreamableHttpGuard(network, config.url, limit=limit, proxy=proxy_for(config.url), redact=redact)
    async with _client(config, guard) as client, _sdk.streamable_http(public_url(config.url), client) as streams:
        yield HttpChannel(streams, guard)


@asynccontextmanager
async def open_sse(config: ServerConfig, limit: int, redact: Callable[[str], str]) -> AsyncIterator[HttpChannel]:
    """Open a session over the SSE transport. Raises `ServerUnavailable` if its stream does not open."""
    injection = EventInjection(public_url(config.url), config.sse_prefix, redact)
    network = await _network(config)
    proxy = proxy_for(config.url)
    guard = SseGuard(network, config.url, limit=limit, injection=injection, proxy=proxy, redact=redact)
    opened = False

    def make_client(**ignored: Any) -> Any:
        return _client(config, guard)

    try:
        async with _sdk.sse(public_url(config.url), make_client, FOREVER) as streams:
            opened = True
            yield HttpChannel(streams, guard)
    except Exception as error:
        if opened or guard.failure is None:
            raise
        raise unavailable(config.name, guard.failure) from error


def unavailable(server: str, failure: HttpFailure) -> ServerUnavailable:
    """Return the error that a failed HTTP request means for the server."""
    return ServerUnavailable(
        failure.text, server=server, retry=failure.retry, status=failure.status, cause=failure.cause
    )


async def _network(config: ServerConfig) -> Any:
    """Return the transport that really talks: it knows proxies (never for this machine) and certificates."""
    verify: Any = False
    if config.verify:
        try:
            verify = await run_in_thread(trusted, config.ca_file or "")
        except (OSError, ssl.SSLError) as error:
            if not config.ca_file:
                raise
            text = f"ca_file '{config.ca_file}' cannot be used: {error}"
            raise ServerUnavailable(text, server=config.name, retry=False, cause="ca_file") from error
    # Not a client: those log each address, with whatever secret is in it.
    return httpx.AsyncHTTPTransport(verify=verify, proxy=proxy_for(config.url))


def _client(config: ServerConfig, guard: HttpGuard) -> Any:
    """Return the client for the SDK: the configured headers, and time limits that are ours to set."""
    sent = {name: value.strip() for name, value in config.headers.items()}
    headers = {"User-Agent": f"mcp-bridge/{__version__}", **sent}
    user = urlsplit(config.url)
    if user.username is not None:
        pair = f"{unquote(user.username)}:{unquote(user.password or '')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode('ascii')}"
    if config.bearer:
        headers["Authorization"] = f"Bearer {config.bearer}"
    timeout = httpx.Timeout(WRITE_SECONDS, connect=config.connect_timeout, read=None)
    return httpx.AsyncClient(transport=guard, headers=headers, timeout=timeout, trust_env=False)
