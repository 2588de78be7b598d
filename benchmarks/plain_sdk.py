"""The official SDK as its documentation uses it: `stdio_client` and `ClientSession`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from mcp_bridge.transport.stdio.launch import Launch

from .errors import BenchmarkError


@asynccontextmanager
async def sdk_session(launch: Launch) -> AsyncIterator[ClientSession]:
    """Yield an initialised session; to be entered and left in one task, as the SDK demands."""
    server = StdioServerParameters(command=launch.program, args=list(launch.args), env=dict(launch.env), cwd=launch.cwd)
    with open(os.devnull, "w") as quiet:  # noqa: ASYNC230 - the null device does not block
        async with stdio_client(server, errlog=quiet) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            yield session


async def sdk_call(session: ClientSession, tool: str, arguments: Mapping[str, Any]) -> str:
    """Call a tool and return the text of its answer. Raises `BenchmarkError` for an error."""
    # Read from the wire form: attribute names differ between the SDK's majors.
    result = (await session.call_tool(tool, dict(arguments))).model_dump(by_alias=True)
    if result["isError"]:
        raise BenchmarkError(f"{tool}: {result}")
    return "".join(block["text"] for block in result["content"] if block["type"] == "text")


class SdkKeeper:
    """Keeps one session of the SDK open, in a task of its own."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._over = asyncio.Event()
        self._ready: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._keep())

    async def session(self) -> ClientSession:
        """Return the session when its handshake is done."""
        return await self._ready

    async def close(self) -> None:
        self._over.set()
        await self._owner

    async def _keep(self) -> None:
        try:
            async with sdk_session(self._launch) as session:
                self._ready.set_result(session)
                await self._over.wait()
        except Exception as error:
            if self._ready.done():
                raise
            self._ready.set_exception(error)
