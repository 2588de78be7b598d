"""The limit: a JSON-RPC client over pipes that does nothing but what one call needs."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping
from typing import Any

from mcp_bridge.transport.stdio.launch import Launch

from .errors import BenchmarkError

PROTOCOL_VERSION = "2025-11-25"
MAX_LINE_BYTES = 16 * 2**20
EXIT_SECONDS = 5.0


class HandwrittenSession:
    """One server process and its session. Answers are matched by id; all else is ignored."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        if process.stdin is None or process.stdout is None:
            raise BenchmarkError("the process has no pipes")
        self.pid = process.pid
        self._process = process
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, launch: Launch) -> HandwrittenSession:
        """Start the server and do the handshake."""
        process = await asyncio.create_subprocess_exec(
            launch.program,
            *launch.args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=launch.cwd,
            env=dict(launch.env),
            limit=MAX_LINE_BYTES,
            # As the SDK and the bridge do: Linux shares a busy processor out by session (autogroup).
            start_new_session=True,
        )
        session = cls(process)
        client = {"name": "benchmark", "version": "1"}
        params = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}
        try:
            await session.request("initialize", params)
            session._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except BaseException:
            await session.close()
            raise
        return session

    async def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return its result. Raises `BenchmarkError` for an error answer."""
        number = next(self._ids)
        future = self._answers[number] = asyncio.get_running_loop().create_future()
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        answer = await future
        if "result" not in answer:
            raise BenchmarkError(f"{method}: {answer.get('error')}")
        result: dict[str, Any] = answer["result"]
        return result

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool and return the text of its answer. Raises `BenchmarkError` for an error."""
        result = await self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise BenchmarkError(f"{tool}: {result}")
        return "".join(block["text"] for block in result["content"] if block["type"] == "text")

    async def count_tools(self) -> int:
        """Return how many tools the first page lists."""
        return len((await self.request("tools/list", {}))["tools"])

    async def close(self) -> None:
        """Close the server's input and wait for its end; kill it if it does not come."""
        self._stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), EXIT_SECONDS)
        except asyncio.TimeoutError:
            self._process.kill()
            await self._process.wait()
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    def _send(self, message: dict[str, Any]) -> None:
        self._stdin.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    async def _read(self) -> None:
        while line := await self._stdout.readline():
            message = json.loads(line)
            if "method" not in message and (future := self._answers.pop(message["id"], None)) is not None:
                future.set_result(message)
        for future in self._answers.values():
            future.set_exception(BenchmarkError("the server has ended"))
