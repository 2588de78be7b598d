"""`mcp-bridge`: the command line.

Exit status: 0 done; 1 the tool reported an error; 2 wrong usage, configuration, JSON,
unknown tool or permission denied; 3 server unavailable or timed out. With `--json`, stdout
holds exactly one JSON document; everything else goes to stderr.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from .. import __version__
from ..bridge import Bridge
from ..config import BridgeConfig, load_config
from ..errors import BridgeError, CallTimeout, ConfigError, ServerUnavailable, ToolNotFound
from ..naming import server_prefix
from ..result import Media, ToolResult
from ..snapshot import bot_data_dir
from .log import set_up_log
from .report import Report

DONE, TOOL_ERROR, WRONG_USE, UNAVAILABLE, INTERRUPTED = 0, 1, 2, 3, 130


class UsageError(BridgeError):
    """The command line itself is wrong."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see: {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a console of another code page must not stop us
            stream.reconfigure(encoding="utf-8" if "--json" in words else None, errors="replace")
    report = Report(as_json="--json" in words)
    try:
        options = _parser().parse_args(words)
        set_up_log(verbose=options.verbose)
        return asyncio.run(_COMMANDS[options.command](options, report))
    except (ServerUnavailable, CallTimeout) as error:
        report.error(error)
        return UNAVAILABLE
    except BridgeError as error:
        report.error(error)
        return WRONG_USE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def _parser() -> argparse.ArgumentParser:
    common = _Parser(add_help=False)
    common.add_argument("--config", metavar="F", help="config.toml, or a .json file with mcpServers")
    common.add_argument("--data-dir", metavar="DIR", help="where found tools are kept")
    common.add_argument("--json", action="store_true", help="print one JSON document")
    common.add_argument("-v", "--verbose", action="store_true", help="show what happens")
    parser = _Parser(prog="mcp-bridge", description="Every tool of every MCP server, in a chat bot.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", parents=[common], help="show servers and tools")
    call = commands.add_parser("call", parents=[common], help="call a tool")
    call.add_argument("name", metavar="NAME", help="mcp_<server>_<tool>")
    call.add_argument("arguments", metavar="JSON", nargs="?", default="{}", help='such as {"a": 5}')
    call.add_argument("--chat", metavar="ID", help="act for a chat, such as qq:group:123")
    call.add_argument("--save-media", metavar="DIR", help="write pictures and other media there")
    accept = commands.add_parser("accept", parents=[common], help="accept a server's changed tools (pin = true)")
    accept.add_argument("server", metavar="SERVER")
    commands.add_parser("demo", parents=[common], help="the bundled example, end to end")
    return parser


def find_config(stated: str | None) -> BridgeConfig:
    """Load the stated file, else ./config.toml, else the one beside plugin.py. Raises `ConfigError`."""
    if stated:
        return load_config(stated)
    places = [Path("config.toml"), Path(__file__).resolve().parents[2] / "config.toml"]
    for place in places:
        if place.is_file():
            return load_config(place)
    raise ConfigError("no config.toml here; name one with --config")


async def _list(options: argparse.Namespace, report: Report) -> int:
    bridge = Bridge(find_config(options.config), data_dir=options.data_dir, wait=False)
    async with bridge:
        with report.progress("starting servers"):
            await bridge.attempted()
        status = bridge.status()
        ready = {server.name for server in status if server.state == "ready"}
        report.listing([tool for tool in bridge.tools() if tool.server in ready], status)
    return DONE


async def _call(options: argparse.Namespace, report: Report) -> int:
    arguments = _arguments(options.arguments)
    config = find_config(options.config)
    owners = [one.name for one in config.servers if options.name.startswith(server_prefix(one.name))]
    # Only its owner is started for a call, if the name tells who that is.
    async with Bridge(config, data_dir=options.data_dir, wait=False, only=owners or None) as bridge:
        started = time.monotonic()
        with report.progress(f"calling {options.name}"):
            try:
                result = await bridge.call(options.name, arguments, chat=options.chat)
            except ToolNotFound:  # perhaps of a server that is still starting
                await bridge.attempted()
                result = await bridge.call(options.name, arguments, chat=options.chat)
        seconds = time.monotonic() - started
        report.result(options.name, result, seconds, _save(result, options.save_media))
    return TOOL_ERROR if result.is_error else DONE


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the arguments are not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageError('the arguments must be a JSON object, such as {"a": 5}')
    return value


def _save(result: ToolResult, folder: str | None) -> dict[Media, str]:
    """Write the media and return where each one is."""
    if folder is None:
        return {}
    target = Path(folder)
    paths: dict[Media, str] = {}
    try:
        target.mkdir(parents=True, exist_ok=True)
        for media in result.media:
            file = target / media.name
            file.write_bytes(media.data)
            paths[media] = str(file)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror or error}") from None
    return paths


async def _accept(options: argparse.Namespace, report: Report) -> int:
    config = find_config(options.config)
    data_dir = options.data_dir or bot_data_dir(config.file)
    async with Bridge(config, data_dir=data_dir, wait=False, only=()) as bridge:
        with report.progress(f"asking {options.server} for its tools"):
            changes = await bridge.accept(options.server)
    report.accepted(options.server, changes)
    return DONE


async def _demo(options: argparse.Namespace, report: Report) -> int:
    from .demo import run

    return await run(options.data_dir, report)


_COMMANDS = {"list": _list, "call": _call, "accept": _accept, "demo": _demo}
