"""`mcp-bridge`: the command line.

Exit status: 0 done; 1 the tool reported an error; 2 wrong usage, configuration or JSON,
unknown tool, or permission denied; 3 server unavailable or timed out (`doctor`: an enabled
server fails). With `--json`, stdout holds exactly one JSON document; all else goes to stderr.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..bridge.bridge import Bridge
from ..config.bridge_config import BridgeConfig, load_config
from ..config.rules import spelled_out
from ..errors import BridgeError, CallTimeout, ConfigError, ServerUnavailable, ToolNotFound
from ..store.data_dir import bot_data_dir
from ..store.media_files import save_media
from ..text import json_text
from ..text.redaction import Redactor, masked_value
from ..tools.names import server_prefix
from ..tools.result import Media, ToolResult
from .log import set_up_log
from .options import UsageError, parser
from .report import Report

DONE, TOOL_ERROR, WRONG_USE, UNAVAILABLE, INTERRUPTED = 0, 1, 2, 3, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a console with another code page cannot print everything
            stream.reconfigure(encoding="utf-8" if "--json" in words else None, errors="replace")
    report = Report(as_json="--json" in words)
    try:
        options = parser().parse_args(words)
        set_up_log(verbose=options.verbose)
        if options.command == "chat":  # `input` would block an event loop
            return _chat(options, report)
        return asyncio.run(_COMMANDS[options.command](options, report))
    except (ServerUnavailable, CallTimeout) as error:
        report.error(error)
        return UNAVAILABLE
    except BridgeError as error:
        report.error(error)
        return WRONG_USE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # such as `mcp-bridge list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def find_file(given: str | None) -> Path | None:
    """Return the given file, else ./config.toml, else the one beside plugin.py; None if there is none."""
    if given:
        return Path(given)
    places = [Path("config.toml"), Path(__file__).resolve().parents[2] / "config.toml"]
    return next((place for place in places if place.is_file()), None)


def find_config(given: str | None) -> BridgeConfig:
    """Load the configuration that `find_file` finds. Raises `ConfigError`."""
    file = find_file(given)
    if file is None:
        raise ConfigError("no config.toml here; name one with --config")
    return load_config(file)


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
    caller = {"chat": spelled_out(options.chat) if options.chat else None, "user": options.user}
    owners = [one.name for one in config.servers if options.name.startswith(server_prefix(one.name))]
    # Only the server that owns the tool is started, if the name begins with the name of one.
    async with Bridge(config, data_dir=options.data_dir, wait=False, only=owners or None) as bridge:
        started = time.monotonic()
        with report.progress(f"calling {options.name}"):
            try:
                result = await bridge.call(options.name, arguments, **caller)
            except ToolNotFound:  # its server may still be starting
                await bridge.attempted()
                result = await bridge.call(options.name, arguments, **caller)
        seconds = time.monotonic() - started
        report.result(options.name, _masked(result, config), seconds, _save(result, options.save_media))
    return TOOL_ERROR if result.is_error else DONE


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the arguments are not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageError('the arguments must be a JSON object, such as {"a": 5}')
    return value


def _masked(result: ToolResult, config: BridgeConfig) -> ToolResult:
    """Mask secrets in `structured` of a failed result, which is as the server sent it; its text is masked already."""
    if not result.is_error:
        return result
    return replace(result, structured=masked_value(json_text.plain(result.structured), Redactor(config.secrets)))


def _save(result: ToolResult, folder: str | None) -> dict[Media, str]:
    """Save the media in a folder under new names; return the path of each. Raises `UsageError` if that fails."""
    if folder is None:
        return {}
    target = Path(folder)
    paths: dict[Media, str] = {}
    try:
        target.mkdir(parents=True, exist_ok=True)
        for media in result.media:
            paths[media] = str(save_media(target, media.name, media.data))
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror or error}") from None
    return paths


def _chat(options: argparse.Namespace, report: Report) -> int:
    from .chat import run

    return run(options, find_config(options.config), report)


async def _import(options: argparse.Namespace, report: Report) -> int:
    from .importing import run

    run(Path(options.file), find_file(options.config) or Path("config.toml"), report)
    return DONE


async def _doctor(options: argparse.Namespace, report: Report) -> int:
    from .doctor import run

    failing = await run(options, find_config(options.config), report)
    return UNAVAILABLE if failing else DONE


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


_COMMANDS: Mapping[str, Callable[[argparse.Namespace, Report], Coroutine[Any, Any, int]]] = {
    "list": _list,
    "call": _call,
    "import": _import,
    "doctor": _doctor,
    "accept": _accept,
    "demo": _demo,
}
