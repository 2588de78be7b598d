"""Find the step an error belongs to, and the advice that fits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from ..config.launch_command import program_name
from ..config.server_config import ServerConfig
from ..errors import BridgeError, CallTimeout, RpcError, ServerUnavailable
from ..transport.channel import SideOutput
from .steps import StepName


@dataclass(frozen=True)
class Failure:
    """The step that failed, the id of its advice in `ADVICE`, values for the advice, and the output that explains it.

    `line` is the line of the server's output that shows the reason, "" if there is none.
    """

    step: StepName
    advice: str
    values: Mapping[str, object] = field(default_factory=dict)
    line: str = ""


_PROGRAMS = {"npx": "node", "npm": "node", "node": "node", "uvx": "uv", "uv": "uv", "python": "python"}
_PROGRAMS |= {"python3": "python", "py": "python", "docker": "docker", "podman": "docker"}
_STATUSES = {401: "unauthorized", 403: "forbidden", 407: "proxy", 429: "too_many"}
_OTHER_TRANSPORT = frozenset({405, 406, 415})


def start_failure(error: BridgeError, config: ServerConfig, output: SideOutput) -> Failure:
    """Classify an error that kept a server from being started, reached or initialized."""
    match getattr(error, "cause", None):
        case "folder" | "argument" as cause:
            return Failure("program", cause)
        case "program":
            return _missing_program(config)
        case "start":
            return Failure("start", "start")
        case "exit":
            return _exited(config, output)
        case "timeout":
            return _timed_out(config, output)
        case "version":
            return Failure("handshake", "version")
        case "initialize":
            return Failure("handshake", "initialize" if config.command else "initialize.remote")
        case "status":
            return _rejected(error.status if isinstance(error, ServerUnavailable) else None, config)
        case "content":
            return Failure("connect", "transport")
        case "proxy":
            return Failure("connect", "proxy", {"host": urlsplit(config.url).hostname})
        case "connection" | "refused" | "host" | "certificate" | "tls" | "ca_file" | "redirect" as cause:
            return Failure("connect", cause)
        case _:
            return Failure("handshake", "other")


def listing_failure(error: BridgeError, config: ServerConfig, output: SideOutput) -> Failure:
    """Classify an error that `tools/list` or a later request ended with."""
    if isinstance(error, CallTimeout):
        return Failure("tools", "list_timeout")
    if isinstance(error, RpcError):
        return Failure("tools", "list_error")
    failure = start_failure(error, config, output)
    advice = "exit_later" if failure.advice in ("exit", "silent", "launcher") else failure.advice
    return Failure("tools", advice, failure.values, failure.line)


def _missing_program(config: ServerConfig) -> Failure:
    name = program_name(config.command)
    which = "where.exe" if os.name == "nt" else "which"
    kind = _PROGRAMS.get(name.lower())
    return Failure("program", f"program.{kind}" if kind else "program", {"name": name, "which": which})


def _exited(config: ServerConfig, output: SideOutput) -> Failure:
    by_launcher = config.uses_launcher
    values = {"launcher": program_name(config.command), "name": ""}
    if found := match_output((*output.stdout, *output.stderr), by_launcher=by_launcher):
        return Failure("start", found.advice, {**values, "name": found.name}, found.line)
    if by_launcher:
        line = output.stderr[0] if output.stderr else ""  # launchers print the reason first, hints after it
        return Failure("start", "launcher", values, line)
    return Failure("start", "exit" if output.stderr or output.stdout else "silent")


def _timed_out(config: ServerConfig, output: SideOutput) -> Failure:
    if not config.command:
        return Failure("handshake", "timeout.remote")
    if output.stdout:
        return Failure("handshake", "noise", line=output.stdout[-1])
    line = output.stderr[-1] if output.stderr else ""
    if not config.uses_launcher:
        return Failure("handshake", "timeout", line=line)
    values = {"launcher": program_name(config.command), "name": ""}
    found = match_output(output.stderr, by_launcher=True)
    if found is not None and found.advice in ("network", "package"):
        return Failure("start", found.advice, values, found.line)
    return Failure("start", "download", values, line)


def _rejected(status: int | None, config: ServerConfig) -> Failure:
    values = {"host": urlsplit(config.url).hostname}
    if status is not None and status in _STATUSES:
        return Failure("connect", _STATUSES[status], values)
    if status == 404:
        return Failure("connect", "not_found.sse" if config.transport == "sse" else "not_found", values)
    if status in _OTHER_TRANSPORT:
        return Failure("connect", "transport", values)
    return Failure("connect", "server_error" if status is not None and status >= 500 else "status", values)


@dataclass(frozen=True)
class OutputMatch:
    """A known reason in a server's output: the id of its advice, what is missing (or ""), and the line."""

    advice: str
    name: str
    line: str


_PATTERNS = [
    (advice, re.compile(pattern))
    for advice, pattern in (
        ("module", r"No module named '?(?P<name>[\w.]+)"),
        ("script", r"can't open file '?(?P<name>[^']+?)'?:? \[Errno"),
        ("script", r"Cannot find (?:module|package) '(?P<name>[^']+)'"),  # node
        ("package", r"npm (?:error|ERR!) (?:code )?(?P<name>E404)\b"),
        ("package", r"not found in the package registry|No solution found when resolving"),  # uv
        ("package", r"pull access denied|manifest unknown|No such image"),  # docker
        ("daemon", r"[Cc]annot connect to the Docker daemon|connect to the docker API|error during connect"),
        ("network", r"\b(?:EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT)\b"),  # npm
        ("network", r"error sending request|[Ff]ailed to fetch"),  # uv
        ("port", r"EADDRINUSE|[Aa]ddress already in use"),
        (
            "env",
            r"\b(?P<name>[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b.*\b(?:not set|unset|missing|required|not defined|undefined)\b",
        ),
        ("env", r"(?:[Mm]issing|[Ss]et|[Rr]equires?)\b.*\b(?P<name>[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b"),
        ("usage", r"^[Uu]sage:|\berror: (?:the following |unrecognized |argument )|\b(?:is|are) required\b"),
    )
]
_ONLY_LAUNCHERS = frozenset({"package", "daemon", "network"})


def match_output(lines: Iterable[str], *, by_launcher: bool) -> OutputMatch | None:
    """Return the first pattern that matches a line, latest lines first; None if no pattern does.

    Missing packages, Docker and the network are considered only if a launcher (npx, uvx, docker) wrote the lines.
    """
    lines = list(lines)
    for advice, pattern in _PATTERNS:
        if advice in _ONLY_LAUNCHERS and not by_launcher:
            continue
        for line in reversed(lines):
            if found := pattern.search(line):
                return OutputMatch(advice, found.groupdict().get("name") or "", line)
    return None
