"""Child: how much this process grows with its servers and tools."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from .children import tell
from .memory import own_rss


async def grow(job: dict[str, Any]) -> dict[str, int]:
    """Return resident bytes: with the bridge imported, the SDK imported, and all servers ready."""
    import mcp_bridge.bridge.bridge
    from mcp_bridge.config.bridge_config import parse_config

    sizes = {"bridge": own_rss()}
    import mcp_bridge._sdk

    sizes["sdk"] = own_rss()
    bridge = mcp_bridge.bridge.Bridge(parse_config(job["config"]), data_dir=job["data_dir"])
    await bridge.start()
    found = len(bridge.tools())
    if found != job["tools"]:
        raise SystemExit(f"{found} tools instead of {job['tools']}: {bridge.status()}")
    await asyncio.sleep(job["rest"])
    sizes["ready"] = own_rss()
    await bridge.close()
    return sizes


def main() -> None:
    bare = own_rss()
    tell(result={"bare": bare, **asyncio.run(grow(json.loads(sys.argv[1])))})


if __name__ == "__main__":
    main()
