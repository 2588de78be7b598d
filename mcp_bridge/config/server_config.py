"""One server of the configuration, as a value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..aio import Deadline
from ..text import redaction
from .command import LAUNCHERS, program_name

MAX_CALL_FACTOR = 10
"""Default of `max_call_time`, in multiples of `call_timeout`."""

Transport = Literal["stdio", "http", "sse", "auto"]
TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "sse": "sse",
    "http": "http",
    "streamable_http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
}


Visibility = Literal["visible", "deferred", "hidden"]
"""Shown in every prompt; found by the model when it searches; not offered at all."""


@dataclass(frozen=True)
class Rate:
    """So many calls within so many seconds."""

    calls: int
    seconds: float


@dataclass(frozen=True)
class RateLimits:
    """How often a server may be called in one chat, and by one user. None: without limit."""

    chat: Rate | None = None
    user: Rate | None = None


@dataclass(frozen=True)
class ToolSettings:
    """What the owner says of one tool; None where it is as all tools of its server are."""

    description: str | None = None
    call_timeout: float | None = None
    visibility: Visibility | None = None


@dataclass(frozen=True)
class ToolRules:
    """Globs over remote tool names and `@readOnly`, `@destructive`; a denial wins."""

    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fault:
    """What kind of mistake makes an entry unusable, and the key or the variable that it is about."""

    kind: Literal["entry", "variable", "target", "impossible"]
    """`target`: neither program nor address. `impossible`: all of the entry is read, and cannot work."""
    name: str


@dataclass(frozen=True)
class ServerConfig:
    """A checked server entry. Times are in seconds; `error` is set if it cannot be used."""

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
    session: Literal["fresh", "shared", "chat"] = "fresh"
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
    """Globs as in `tools`: calls that the owner has to allow, one by one."""
    confirm_timeout: float = 60.0
    visible: tuple[str, ...] | None = None
    override: Mapping[str, ToolSettings] = field(default_factory=dict)
    send_media: bool = False
    roots: tuple[str, ...] | None = None
    elicitation: Literal["decline", "defaults"] = "decline"
    pin: bool = False
    reopen: bool = True
    """Whether a new session follows a kept one that its server has ended. For programs: no key of the file."""
    error: str | None = None
    fault: Fault | None = None
    warnings: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    """The environment variables that the entry names."""
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    identity: str = field(default="", repr=False)
    """What makes it this server and no other, without a secret in it: names the stored catalogue."""

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
        """Return this entry with a default of `max_call_time` that is not above `seconds`."""
        total = self.max_call_time or min(self.call_timeout * MAX_CALL_FACTOR, seconds)
        return replace(self, max_call_time=total)

    def settings(self, remote_name: str) -> ToolSettings:
        """Return what the owner says of a tool, by the server's own name for it."""
        return self.override.get(remote_name, ToolSettings())


def identity(raw: Mapping[str, Any], config: ServerConfig) -> str:
    """Describe the unexpanded entry without values of `env` and `headers`, userinfo and query."""
    kept: dict[str, Any] = {key: raw[key] for key in ("command", "args", "cwd", "transport") if key in raw}
    kept |= {key: sorted(map(str, raw[key])) for key in ("env", "headers") if raw.get(key)}
    kept["url"] = redaction.public_url(str(raw.get("url", "")))
    return json.dumps([config.name, kept, config.cwd], sort_keys=True, default=str)
