"""Child: how long a bridge takes, in a process that has not imported the SDK, until its tools are there."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import mcp_bridge.bridge.bridge
import mcp_bridge.bridge.thread
from mcp_bridge.config.bridge_config import parse_config

POLL_SECONDS = 0.0005
LIMIT_SECONDS = 60.0


def by_thread(job: dict[str, Any]) -> float:
    """From `BridgeThread.start()` until `tools()` is complete."""
    bridge = mcp_bridge.bridge.thread.BridgeThread(parse_config(job["config"]), data_dir=job["data_dir"])
    began = perf_counter()
    bridge.start()
    while len(bridge.tools()) < job["tools"]:
        if perf_counter() - began > LIMIT_SECONDS:
            raise SystemExit(f"the tools do not come: {bridge.status()}")
        sleep(POLL_SECONDS)
    took = perf_counter() - began
    bridge.close_soon()
    if not bridge.join(LIMIT_SECONDS):
        raise SystemExit("the bridge does not end")
    return took


async def by_entering(job: dict[str, Any]) -> float:
    """From entering a `Bridge`, with `wait` or without, until `tools()` is complete."""
    bridge = mcp_bridge.bridge.Bridge(parse_config(job["config"]), data_dir=job["data_dir"], wait=job["wait"])
    began = perf_counter()
    await bridge.start()
    while len(bridge.tools()) < job["tools"]:
        if perf_counter() - began > LIMIT_SECONDS:
            raise SystemExit(f"the tools do not come: {bridge.status()}")
        await asyncio.sleep(POLL_SECONDS)
    took = perf_counter() - began
    await bridge.close()
    return took


async def by_sdk(job: dict[str, Any]) -> float:
    """From `import mcp` until all servers have been listed concurrently by the plain SDK."""
    began = perf_counter()
    from .discoveries import list_with_sdk  # imports the SDK, which is part of it

    at = await list_with_sdk([_launch(server) for server in parse_config(job["config"]).servers], job["tools"])
    return at - began


def _launch(server: Any) -> Any:
    from mcp_bridge.transport.stdio.launch import plan_launch

    return plan_launch(server)


def main() -> None:
    job = json.loads(sys.argv[1])
    loaded = sorted(name for name in sys.modules if name.partition(".")[0] in ("mcp", "pydantic", "anyio", "httpx"))
    if loaded:
        raise SystemExit(f"imported before the start: {', '.join(loaded[:5])}")
    Path(job["data_dir"]).mkdir(parents=True, exist_ok=True)
    match job["way"]:
        case "thread":
            took = by_thread(job)
        case "enter":
            took = asyncio.run(by_entering(job))
        case _:
            took = asyncio.run(by_sdk(job))
    print(json.dumps({"result": {"seconds": took}}), flush=True)


if __name__ == "__main__":
    main()
