"""A misbehaving server over HTTP: started for one test, steered while it runs, and what it saw."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.places import SERVERS


@dataclass
class Remote:
    """A running server; `origin` is its address without a path."""

    origin: str
    log: Path
    process: subprocess.Popen[bytes]

    @property
    def port(self) -> int:
        return int(self.origin.rpartition(":")[2])

    async def steer(self, order: str) -> dict[str, Any]:
        """Change the running server: `restart`, or `set?http=500&times=1`."""
        return await asyncio.to_thread(self._post, order)

    def _post(self, order: str) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.origin}/_odd/{order}", method="POST")
        with urllib.request.urlopen(request, timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Return what the server wrote to its log of one kind; nothing if it was never asked."""
        if not self.log.exists():
            return []
        return [event for event in map(json.loads, self.log.read_text().splitlines()) if event["event"] == kind]

    def requests(self) -> list[dict[str, Any]]:
        """Return the HTTP requests seen, without the ones that steer; header names are lower case."""
        return [
            {**event, "headers": {name.lower(): value for name, value in event["headers"].items()}}
            for event in self.events("http")
            if "/_odd/" not in event["path"]
        ]

    def messages(self, method: str) -> list[dict[str, Any]]:
        """Return the JSON-RPC messages of one method that reached a session."""
        return [event["message"] for event in self.events("recv") if event["message"].get("method") == method]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def remote(folder: Path, mode: str = "normal", *options: str) -> Iterator[Remote]:
    """Start a server; its log is in `folder`."""
    log = folder / f"http-{len(list(folder.glob('http-*.log')))}.log"
    log.touch()
    command = [sys.executable, str(SERVERS / "http_server.py"), mode, f"log={log}", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline().split()[1])
        yield Remote(f"http://127.0.0.1:{port}", log, process)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def at(url: str, name: str = "s", **more: Any) -> str:
    """Return the entry of a remote server, as an owner would write it."""
    lines = [f"{key} = {_toml(value)}" for key, value in more.items()]
    return "\n".join([f"[mcp.servers.{name}]", f"url = {json.dumps(url)}", *lines, ""])


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {json.dumps(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)
