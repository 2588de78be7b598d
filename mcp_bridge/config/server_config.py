"""One server of the configuration, as a frozen value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..aio import Deadline
from ..text import redaction
from .launch_command import LAUNCHERS, program_name
from .mistakes import Mistake

MAX_CALL_FACTOR = 10
"""Default of `max_call_time`, in multiples of `call_timeout`."""

Transport = Literal["stdio", "http", "sse", "auto"]
"""`auto`: streamable HTTP, or SSE where the server answers that with 404 or 405."""
SessionStrategy = Literal["fresh", "shared", "chat"]
SESSION_STRATEGIES: tuple[SessionStrategy, ...] = ("fresh", "shared", "chat")
Elicitation = Literal["decline", "defaults"]
ELICITATIONS: tuple[Elicitation, ...] = ("decline", "defaults")
TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "sse": "sse",
    "http": "http",
    "streamable_http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
}
"""The spellings of `transport`, each with the transport that it means."""
Visibility = Literal["visible", "deferred", "hidden"]
"""Shown in every prompt; found by the model's tool search; not offered."""
VISIBILITIES: tuple[Visibility, ...] = ("visible", "deferred", "hidden")


@dataclass(frozen=True)
class Rate:
    """At most `calls` calls in `seconds` seconds."""

    calls: int
    seconds: float


@dataclass(frozen=True)
class RateLimits:
    """How often a server may be called in one chat, and by one user; None means without limit."""

    chat: Rate | None = None
    user: Rate | None = None


@dataclass(frozen=True)
class ToolSettings:
    """The owner's settings for one tool; None where those of the server apply."""

    description: str | None = None
    call_timeout: float | None = None
    visibility: Visibility | None = None


@dataclass(frozen=True)
class ToolRules:
    """Globs over remote tool names and `@readOnly`, `@destructive`; a denial wins."""

    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()


@dataclass(frozen=True)
class ServerConfig:
    """A checked server entry. Times are in seconds."""

    name: str
    enabled: bool = True
    transport: Transport = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    inherit_env: bool | tuple[str, ...] = False
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    bearer: str | None = field(default=None, repr=False)
    verify: bool = True
    ca_file: str | None = None
    sse_prefix: str = ""
    session: SessionStrategy = "fresh"
    warm: int = 1
    idle_timeout: float = 300.0
    max_sessions: int = 8
    connect_timeout: float = 30.0
    first_start_timeout: float = 300.0
    call_timeout: float = 60.0
    max_call_time: float | None = None
    max_result_chars: int = 20_000
    tools: ToolRules = ToolRules()
    chats: tuple[str, ...] | None = None
    users: tuple[str, ...] | None = None
    rate: RateLimits = field(default_factory=RateLimits)
    confirm: tuple[str, ...] = ()
    """Globs as in `tools`: each call of such a tool needs the owner's consent."""
    confirm_timeout: float = 60.0
    visible: tuple[str, ...] | None = None
    override: Mapping[str, ToolSettings] = field(default_factory=dict)
    send_media: bool = False
    roots: tuple[str, ...] | None = None
    elicitation: Elicitation = "decline"
    pin: bool = False
    reopen: bool = True
    """Whether a kept session is replaced when its server ends it. Set by programs; not a key of the file."""
    mistake: Mistake | None = None
    """Why the entry cannot be used; nothing of it is started then."""
    warnings: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    """The environment variables that the entry refers to."""
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    unexpanded: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The parts of the entry that identify the server, as written in the file and without secrets."""

    @property
    def error(self) -> str | None:
        """The message of `mistake`, None if the entry can be used."""
        return self.mistake.text if self.mistake else None

    @property
    def identity(self) -> str:
        """A text that differs between servers and holds no secret; the key of the stored catalogue."""
        return json.dumps([self.name, self.unexpanded, self.cwd], sort_keys=True, default=str)

    @property
    def uses_launcher(self) -> bool:
        """Whether the command is a launcher such as npx, which may first have to download the server."""
        return self.transport == "stdio" and program_name(self.command).lower() in LAUNCHERS

    @property
    def start_limit(self) -> float:
        """How many seconds the first start may take, from launching the server to its list of tools."""
        return max(self.connect_timeout, self.first_start_timeout) if self.uses_launcher else self.connect_timeout

    def call_limits(self, remote_name: str) -> Deadline:
        """Return the time limits of a call, those set for the tool or else the server's.

        A tool's own `call_timeout` also extends the total.
        """
        own = self.settings(remote_name).call_timeout
        idle = own or self.call_timeout
        total = self.max_call_time or idle * MAX_CALL_FACTOR
        return Deadline(idle, max(total, own or 0))

    def limited_to(self, seconds: float) -> ServerConfig:
        """Return this entry with the default of `max_call_time` limited to `seconds`; a configured value is kept."""
        total = self.max_call_time or min(self.call_timeout * MAX_CALL_FACTOR, seconds)
        return replace(self, max_call_time=total)

    def settings(self, remote_name: str) -> ToolSettings:
        """Return the owner's settings for a tool, which is given by the server's own name for it."""
        return self.override.get(remote_name, ToolSettings())


def public_part(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of an unexpanded entry that identify its server and hold no secret.

    Only the names of `env` and `headers` are kept, and the url without userinfo and query.
    """
    kept: dict[str, Any] = {key: entry[key] for key in ("command", "args", "cwd", "transport") if key in entry}
    kept |= {key: sorted(map(str, entry[key])) for key in ("env", "headers") if entry.get(key)}
    kept["url"] = redaction.public_url(str(entry.get("url", "")))
    return kept
