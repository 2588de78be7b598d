"""An MCP server over stdio in plain Python: no SDK, so it starts at once and does exactly this.

Options make it what servers sometimes are: slow to start, silent, or impossible to stop. ``--marker``
does nothing; it lets a test find the process by its arguments.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import signal
import struct
import sys
import time
import zlib
from typing import Any

STRING = {"type": "string"}
NUMBER = {"type": "number"}

TOOLS: list[dict[str, Any]] = [
    {"name": "image", "description": "Return a text and a red picture", "inputSchema": {"type": "object"}},
    {"name": "pid", "description": "Return the server's process id", "inputSchema": {"type": "object"}},
    {
        "name": "kwargs",
        "description": "Return the arguments that arrived, as JSON",
        "inputSchema": {
            "type": "object",
            "properties": {"platform": STRING, "user_id": STRING, "self": STRING, "stream_id": STRING},
            "required": ["platform", "user_id", "self", "stream_id"],
        },
    },
    {
        "name": "slow",
        "description": "Sleep, then say so",
        "inputSchema": {"type": "object", "properties": {"seconds": NUMBER}, "required": ["seconds"]},
    },
]


def red_png(size: int = 4) -> bytes:
    """Return a red square as a PNG file."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\xff\0\0" * size) * size
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def text(content: str) -> dict[str, str]:
    """Return a text content block."""
    return {"type": "text", "text": content}


def call(name: str, arguments: dict[str, Any]) -> list[dict[str, str]]:
    """Run a tool and return its content blocks."""
    if name == "image":
        picture = {"type": "image", "data": base64.b64encode(red_png()).decode(), "mimeType": "image/png"}
        return [text("a red square"), picture]
    if name == "pid":
        return [text(str(os.getpid()))]
    if name == "kwargs":
        return [text(json.dumps(arguments, sort_keys=True))]
    if name == "slow":
        time.sleep(arguments["seconds"])
        return [text(f"slept {arguments['seconds']} s")]
    raise LookupError(f"no tool named {name}")


def result_of(method: str, params: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Answer one request; raise LookupError for what this server does not know."""
    if method == "initialize":
        time.sleep(options.initialize_delay)
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "plain", "version": "1"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return {"content": call(params["name"], params.get("arguments") or {})}
    raise LookupError(f"no method named {method}")


def main() -> None:
    """Answer requests one after the other until the input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--marker", default="")
    parser.add_argument("--initialize-delay", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--silent", action="store_true", help="read everything, answer nothing")
    parser.add_argument("--silent-if", default="", metavar="FILE", help="the same, once this file exists")
    parser.add_argument("--stubborn", action="store_true", help="ignore the end of input and SIGTERM")
    options = parser.parse_args()
    options.silent = options.silent or os.path.exists(options.silent_if)
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        message = json.loads(line)
        if options.silent or "id" not in message or "method" not in message:
            continue
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            answer["result"] = result_of(message["method"], message.get("params") or {}, options)
        except LookupError as error:
            answer["error"] = {"code": -32601, "message": str(error)}
        print(json.dumps(answer), flush=True)
    while options.stubborn:
        time.sleep(3600)


if __name__ == "__main__":
    main()
