"""Checks each server step by step and says what to do: `mcp-bridge doctor`, without the printing.

What is found is what is there now; nothing is stored by it.
"""

from __future__ import annotations

import asyncio
import codecs
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..config.bridge_config import BridgeConfig
from ..errors import BridgeError, ConfigError
from ..text.redaction import Redactor
from ..transport.route import SharedResources
from ..transport.stdio.guardian import Guardian
from .examination import Examination
from .offer import Offered
from .steps import Diagnosis
from .words import Words


async def diagnose(config: BridgeConfig, words: Words, *, data_dir: Path) -> list[Diagnosis]:
    """Check all servers concurrently; return what was found, in the order of the configuration.

    `data_dir` is where the bot keeps tools and approvals. Takes as long as the slowest server
    may by its own limits. Raises `BridgeError` if this Python could not speak to any server.
    """
    if any(server.enabled for server in config.servers):
        await asyncio.to_thread(_import_sdk, words)  # first: it takes seconds on a slow machine, of nobody's time limit
    guardian = Guardian()
    shared = SharedResources(guardian, Redactor(config.secrets), config.max_message_mib * 2**20)
    objection = file_objection(config, words)
    examinations = [Examination(server, shared, words, objection) for server in config.servers]
    try:
        await asyncio.gather(*(examination.run() for examination in examinations))
    finally:
        await asyncio.to_thread(guardian.close)
    offered = await asyncio.to_thread(Offered, config, examinations, data_dir, words)
    for examination in examinations:
        if examination.listing is not None:
            offered.tell(examination)
    return [examination.diagnosis() for examination in examinations]


def file_objection(config: BridgeConfig, words: Words) -> str:
    """Return why the bot itself could not read the file that a configuration came from, "" if it could."""
    return host_objection(config.file, words) if config.file is not None else ""


def longest_wait(config: BridgeConfig) -> float:
    """Return how many seconds the slowest server may take until its tools are known."""
    return max((one.start_limit for one in config.servers if one.enabled and not one.error), default=0.0)


def _import_sdk(words: Words) -> None:
    try:
        import_module(".._sdk", __package__)
    except ImportError as error:
        try:
            found = f"mcp {version('mcp')}"
        except PackageNotFoundError:
            found = words("nothing")
        raise BridgeError(words("no_sdk", python=sys.executable, found=found, error=error)) from error


def host_objection(file: Path, words: Words) -> str:
    """Return why MaiBot would refuse a `.toml` file, on one line; "" if it would not.

    MaiBot >= 1.0 uses the standard library's parser: TOML 1.0, no BOM. Python 3.10 has none,
    so there only the BOM is seen. Raises `ConfigError` if the file cannot be read any more.
    """
    if file.suffix.lower() != ".toml":
        return ""
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", file=str(file)) from error
    if raw.startswith(codecs.BOM_UTF8):
        return words("file.bom", file=file.name)
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return words("file.utf16", file=file.name)
    try:
        import_module("tomllib").loads(raw.decode("utf-8"))
    except ImportError:
        return ""
    except ValueError as error:
        return words("file.toml", file=file.name, message=error)
    return ""
