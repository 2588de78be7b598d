"""Which case an error of the core is: where it happened, and which advice fits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from ..config.command import program_name
from ..config.server_config import ServerConfig
from ..errors import BridgeError, CallTimeout, RpcError, ServerUnavailable
from ..transport.channel import SideOutput
from .steps import StepName


@dataclass(frozen=True)
class Case:
    """A failure: its step, its key in `CASEBOOK`, the values for the texts, and what the server said."""

    step: StepName
    advice: str
    values: Mapping[str, object] = field(default_factory=dict)
    line: str = ""


_PROGRAMS = {"npx": "node", "npm": "node", "node": "node", "uvx": "uv", "uv": "uv", "python": "python"}
_PROGRAMS |= {"python3": "python", "py": "python", "docker": "docker", "podman": "docker"}
_STATUSES = {401: "unauthorized", 403: "forbidden", 407: "proxy", 429: "too_many"}
_OTHER_TRANSPORT = frozenset({405, 406, 415})


def case_of(error: BridgeError, config: ServerConfig, side_output: SideOutput) -> Case:
    """Return the case of an error that kept a server from being started or reached."""
    match getattr(error, "cause", None):
        case "folder":
            return Case("program", "folder")
        case "program":
            return _missing_program(config)
        case "argument":
            return Case("program", "argument")
        case "start":
            return Case("start", "start")
        case "exit":
            return _ended(config, side_output)
        case "timeout":
            return _silent(config, side_output)
        case "version":
            return Case("handshake", "version")
        case "initialize":
            return Case("handshake", "initialize" if config.command else "initialize.remote")
        case "status":
            return _refused(error.status if isinstance(error, ServerUnavailable) else None, config)
        case "content":
            return Case("connect", "transport")
        case "proxy":
            return Case("connect", "proxy", {"host": urlsplit(config.url).hostname})
        case "connection" | "refused" | "host" | "certificate" | "tls" | "ca_file" | "redirect" as cause:
            return Case("connect", cause)
        case _:
            return Case("handshake", "other")


def case_of_list(error: BridgeError, config: ServerConfig, side_output: SideOutput) -> Case:
    """Return the case of an error that came instead of the list of tools."""
    if isinstance(error, CallTimeout):
        return Case("tools", "list_timeout")
    if isinstance(error, RpcError):
        return Case("tools", "list_error")
    found = case_of(error, config, side_output)
    advice = "exit_later" if found.advice in ("exit", "silent", "launcher") else found.advice
    return Case("tools", advice, found.values, found.line)


def _missing_program(config: ServerConfig) -> Case:
    name = program_name(config.command)
    which = "where.exe" if os.name == "nt" else "which"
    kind = _PROGRAMS.get(name.lower())
    return Case("program", f"program.{kind}" if kind else "program", {"name": name, "which": which})


def _ended(config: ServerConfig, side_output: SideOutput) -> Case:
    by_launcher = config.uses_launcher
    values = {"launcher": program_name(config.command), "name": ""}
    if words := understand((*side_output.stdout, *side_output.stderr), by_launcher=by_launcher):
        return Case("start", words.case, {**values, "name": words.name}, words.line)
    if by_launcher:
        line = side_output.stderr[0] if side_output.stderr else ""  # the cause comes first, good advice after it
        return Case("start", "launcher", values, line)
    return Case("start", "exit" if side_output.stderr or side_output.stdout else "silent")


def _silent(config: ServerConfig, side_output: SideOutput) -> Case:
    if not config.command:
        return Case("handshake", "timeout.remote")
    if side_output.stdout:
        return Case("handshake", "noise", line=side_output.stdout[-1])
    line = side_output.stderr[-1] if side_output.stderr else ""
    if not config.uses_launcher:
        return Case("handshake", "timeout", line=line)
    values = {"launcher": program_name(config.command), "name": ""}
    words = understand(side_output.stderr, by_launcher=True)
    if words is not None and words.case in ("network", "package"):
        return Case("start", words.case, values, words.line)
    return Case("start", "download", values, line)


def _refused(status: int | None, config: ServerConfig) -> Case:
    values = {"status": status, "host": urlsplit(config.url).hostname}
    if status is not None and status in _STATUSES:
        return Case("connect", _STATUSES[status], values)
    if status == 404:
        return Case("connect", "not_found.sse" if config.transport == "sse" else "not_found", values)
    if status in _OTHER_TRANSPORT:
        return Case("connect", "transport", values)
    return Case("connect", "server_error" if status is not None and status >= 500 else "status", values)


@dataclass(frozen=True)
class LastWords:
    """The case they belong to (a key of `CASEBOOK`), what it is about, and the telling line."""

    case: str
    name: str
    line: str


_PATTERNS = [
    (case, re.compile(pattern))
    for case, pattern in (
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
_OF_LAUNCHERS = frozenset({"package", "daemon", "network"})


def understand(lines: Iterable[str], *, by_launcher: bool) -> LastWords | None:
    """Return what the lines mean, by the first pattern that fits any of them; None if none does.

    Packages and the network are a matter of launchers (npx, uvx) only.
    """
    lines = list(lines)
    for case, pattern in _PATTERNS:
        if case in _OF_LAUNCHERS and not by_launcher:
            continue
        for line in reversed(lines):
            if found := pattern.search(line):
                return LastWords(case, found.groupdict().get("name") or "", line)
    return None
