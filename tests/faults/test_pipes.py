"""The pipes of a server that breaks off."""

from __future__ import annotations

import asyncio
import os

import pytest

from mcp_bridge.transport.stdio.pipes import PipeWriter


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
async def test_a_server_that_dies_while_it_is_written_to_puts_no_traceback_into_the_log() -> None:
    problems: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: problems.append(context))
    reading, writing = os.pipe()
    writer = await PipeWriter.open(os.fdopen(writing, "wb", 0))
    os.close(reading)
    writer.write(b"x")  # fails at once, and asyncio begins to close
    writer.close()
    await asyncio.sleep(0.1)
    assert problems == []
