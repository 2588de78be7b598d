"""The servers that are measured, and how each contender starts them: in exactly the same way."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_bridge.config.bridge_config import BridgeConfig, parse_config
from mcp_bridge.transport.stdio.launch import Launch, plan_launch

from .errors import BenchmarkError

ROOT = Path(__file__).parents[1]
CACHE = Path(__file__).parent / ".cache"
"""Where packages are installed; not tracked by git."""
ODD_SERVER = ROOT / "tests" / "servers" / "odd_server.py"
CALCULATOR = ROOT / "examples" / "calculator_server.py"
NODE_PACKAGE = "@modelcontextprotocol/server-everything"
NODE_PACKAGE_VERSION = "2026.1.26"
INSTALL_SECONDS = 300.0


@dataclass(frozen=True)
class Subject:
    """A server, one of its tools, and the answer that proves that the tool has run."""

    name: str
    command: str
    args: tuple[str, ...]
    tool: str = "pid"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    answer: str = r"\d+"
    """A pattern for the whole text of the answer."""
    env: Mapping[str, str] = field(default_factory=dict)
    tools: int = 2
    """How many tools it offers."""

    @property
    def tells_pid(self) -> bool:
        """Whether the answer is the process id of the server."""
        return self.tool == "pid"

    def entry(self, **keys: Any) -> dict[str, Any]:
        """Return the entry of this server as it would stand in config.toml."""
        return {"command": self.command, "args": list(self.args), "env": dict(self.env), **keys}

    def launch(self) -> Launch:
        """Return program, arguments and environment as the bridge starts it, for the other contenders."""
        return plan_launch(config({self.name: self.entry()}).servers[0])

    def check(self, text: str) -> None:
        """Raise `BenchmarkError` if this is not the answer of the tool."""
        if re.fullmatch(self.answer, text) is None:
            raise BenchmarkError(f"{self.name}: {self.tool} answered {text[:200]!r}")


def config(servers: Mapping[str, Mapping[str, Any]], **keys: Any) -> BridgeConfig:
    """Return a checked configuration; raises `BenchmarkError` if one of its entries is wrong."""
    checked = parse_config({"mcp": {"servers": servers, **keys}})
    for problem in (*checked.warnings, *(server.error for server in checked.servers if server.error)):
        raise BenchmarkError(f"configuration: {problem}")
    return checked


def odd(mode: str, *options: str, name: str = "minimal", tools: int = 2) -> Subject:
    """Return the minimal server of the tests in one of its modes (`odd_server.py list`)."""
    return Subject(name, sys.executable, (str(ODD_SERVER), mode, *options), tools=tools)


def minimal() -> Subject:
    return odd("normal")


def calculator() -> Subject:
    """Return the example server, made with the official SDK in Python."""
    arguments = {"a": 5, "b": 3}
    return Subject("python", sys.executable, (str(CALCULATOR),), "add", arguments, r"8(\.0)?", tools=5)


@dataclass(frozen=True)
class NodeSubjects:
    """The node servers of this machine; `missing` says why there are none."""

    direct: Subject | None = None
    by_npx: Subject | None = None
    missing: str = ""

    @property
    def all(self) -> list[Subject]:
        return [subject for subject in (self.direct, self.by_npx) if subject is not None]


def node_subjects() -> NodeSubjects:
    """Install the pinned node server into the cache folder unless it is there, and return it."""
    node, npm, npx = (shutil.which(name) for name in ("node", "npm", "npx"))
    if node is None or npm is None:
        return NodeSubjects(missing="node or npm was not found")
    folder = CACHE / "node"
    script = folder / "node_modules" / NODE_PACKAGE / "dist" / "index.js"
    package = f"{NODE_PACKAGE}@{NODE_PACKAGE_VERSION}"
    if not script.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), package]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return NodeSubjects(missing=f"{package} could not be installed: {type(error).__name__}")
        if done.returncode:
            return NodeSubjects(missing=f"{package} could not be installed: npm ended with status {done.returncode}")
    echo = {"message": "benchmark"}
    direct = Subject("node", node, (str(script), "stdio"), "echo", echo, "Echo: benchmark")
    if npx is None:
        return NodeSubjects(direct, missing="npx was not found")
    env = {"npm_config_cache": str(CACHE / "npm")} if os.access(CACHE, os.W_OK) else {}
    by_npx = Subject("npx", npx, ("-y", package), "echo", echo, "Echo: benchmark", env=env)
    return NodeSubjects(direct, by_npx)
