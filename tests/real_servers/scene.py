"""What a check works with: a server opened through a `Bridge`, a scratch folder, and pages to fetch."""

from __future__ import annotations

import asyncio
import http.server
import os
import secrets
import socket
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from mcp_bridge import Bridge, Tool, ToolResult
from mcp_bridge.config.bridge_config import parse_config

START_SECONDS = 120.0
"""For the start of a server on a machine that is busy with others."""
END_SECONDS = 10.0
"""How long a process may take to be gone after its session was closed."""
MARKER = "REAL_SERVERS_SCENE"
"""Set in the environment of every server, to find whatever of it is left."""
PAGE = "<html><head><title>Prices</title></head><body><h1>Tea</h1><p>It costs <b>42</b> yuan.</p></body></html>"


def equal(actual: object, wanted: object) -> None:
    """Raise `AssertionError` with both values if they differ."""
    if actual != wanted:
        raise AssertionError(f"{actual!r}, not {wanted!r}")


def within(part: str, text: str) -> None:
    """Raise `AssertionError` with both texts if the first is not in the second."""
    if part not in text:
        raise AssertionError(f"{part!r} is not in {text!r}")


class Opened:
    """A server that is ready."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The offered tools by the server's own names."""
        return {tool.remote_name: tool for tool in self._bridge.tools()}

    async def call(self, tool: str, chat: str | None = None, /, **arguments: Any) -> ToolResult:
        """Call a tool by the server's own name."""
        return await self._bridge.call(self.tools[tool].name, arguments, chat=chat)

    async def answer(self, tool: str, chat: str | None = None, /, **arguments: Any) -> ToolResult:
        """Call a tool that must not fail."""
        result = await self.call(tool, chat, **arguments)
        if result.is_error:
            raise AssertionError(f"{tool} failed: {result.text}")
        return result

    async def failure(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must report an error; return its text."""
        result = await self.call(tool, **arguments)
        if not result.is_error:
            raise AssertionError(f"{tool} did not fail: {result.text}")
        return result.text

    async def appears(self, tool: str) -> None:
        """Wait for a tool that the server adds when it knows its client."""
        await until(lambda: tool in self.tools, f"no tool {tool}")


class Scene:
    """One server in a scratch folder. `{work}` in its arguments and environment stands for that folder."""

    def __init__(self, work: Path, program: Path, args: tuple[str, ...], env: Mapping[str, str]) -> None:
        self.work = work.resolve()  # servers of files look behind a link, such as macOS has for temporary folders
        self.marker = secrets.token_hex(8)
        self._program = str(program)
        self._args = [self._filled(word) for word in args]
        self._env = {name: self._filled(value) for name, value in env.items()} | {MARKER: self.marker}

    @asynccontextmanager
    async def open(self, **options: Any) -> AsyncIterator[Opened]:
        """Open the server; `options` are further keys of its entry, an `url` among them to reach a running one."""
        entry: dict[str, Any] = {"connect_timeout": START_SECONDS, "call_timeout": START_SECONDS, **options}
        if "url" not in options:
            started = {"command": self._program, "args": self._args, "env": self._env, "cwd": str(self.work)}
            entry = {**started, **entry}
        config = parse_config({"mcp": {"servers": {"real": entry}}})
        async with Bridge(config, data_dir=self.work / "data") as bridge:
            (status,) = bridge.status()
            if status.state != "ready":
                raise AssertionError(f"{status.state}: {status.reason}")
            yield Opened(bridge)

    @asynccontextmanager
    async def serving(self, *args: str, port_variable: str = "") -> AsyncIterator[str]:
        """Run the server with other arguments on a free port, `{port}`; yield its address without a path."""
        port = free_port()
        command = [self._program, *(word.replace("{port}", str(port)) for word in args)]
        env = {**os.environ, **self._env, **({port_variable: str(port)} if port_variable else {})}
        silent = subprocess.DEVNULL
        process = subprocess.Popen(command, cwd=self.work, env=env, stdin=silent, stdout=silent, stderr=silent)
        try:
            await until(lambda: _listens(port), "it does not listen", START_SECONDS)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                await asyncio.to_thread(process.wait, END_SECONDS)
            except subprocess.TimeoutExpired:  # open event streams hold some servers up
                process.kill()
                process.wait()

    @contextmanager
    def page(self) -> Iterator[str]:
        """Serve the scratch folder with a page in it; yield the page's address."""
        (self.work / "page.html").write_text(PAGE, encoding="utf-8")
        handler = partial(_QuietHandler, directory=str(self.work))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield f"http://127.0.0.1:{server.server_port}/page.html"
            finally:
                server.shutdown()

    def processes(self) -> list[str]:
        """Return the processes of this server that are running now, of whatever parent."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if process.environ().get(MARKER) == self.marker:
                    found.append(f"{process.pid} {process.name()}")
        return found

    async def all_ended(self) -> None:
        """Wait until no process of this server is left. Raises `AssertionError` naming those that stay."""
        await until(lambda: not self.processes(), "left behind: {}", about=self.processes)

    def _filled(self, text: str) -> str:
        return text.replace("{work}", str(self.work))


async def until(
    condition: Callable[[], bool],
    otherwise: str,
    seconds: float = END_SECONDS,
    about: Callable[[], object] = lambda: "",
) -> None:
    """Wait for a condition. Raises `AssertionError` if it does not come true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(otherwise.format(about()))
        await asyncio.sleep(0.1)


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass
