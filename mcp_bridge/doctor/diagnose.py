"""Check all servers step by step: `mcp-bridge doctor` without its output.

Only the present state is examined; nothing is stored.
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
from .offered_tools import OfferSteps
from .steps import Diagnosis
from .texts import DoctorTexts


async def diagnose(config: BridgeConfig, texts: DoctorTexts, *, data_dir: Path) -> list[Diagnosis]:
    """Check all servers concurrently; return their diagnoses in the order of the configuration.

    `data_dir` is where the bot keeps stored tools and approvals. Takes as long as the slowest
    server may take (`longest_wait`). Raises `BridgeError` if this Python cannot import the SDK.
    """
    if any(server.enabled for server in config.servers):
        # Before any timer starts: the import can take seconds and must not count against a server's limit.
        await asyncio.to_thread(_import_sdk, texts)
    guardian = Guardian()
    shared = SharedResources(guardian, Redactor(config.secrets), config.max_message_mib * 2**20)
    objection = file_objection(config, texts)
    examinations = [Examination(server, shared, texts, objection) for server in config.servers]
    try:
        await asyncio.gather(*(examination.run() for examination in examinations))
    finally:
        await asyncio.to_thread(guardian.close)
    offer = await asyncio.to_thread(OfferSteps, config, examinations, data_dir, texts)
    for examination in examinations:
        if examination.listing is not None:
            offer.add_to(examination)
    return [examination.diagnosis() for examination in examinations]


def file_objection(config: BridgeConfig, texts: DoctorTexts) -> str:
    """Return why MaiBot would reject the file of a configuration, "" if it would not."""
    return host_objection(config.file, texts) if config.file is not None else ""


def longest_wait(config: BridgeConfig) -> float:
    """Return how many seconds the slowest server may take until its tools are known."""
    return max((one.start_limit for one in config.servers if one.enabled and not one.error), default=0.0)


def _import_sdk(texts: DoctorTexts) -> None:
    try:
        import_module(".._sdk", __package__)
    except ImportError as error:
        try:
            found = f"mcp {version('mcp')}"
        except PackageNotFoundError:
            found = texts("nothing")
        raise BridgeError(texts("no_sdk", python=sys.executable, found=found, error=error)) from error


def host_objection(file: Path, texts: DoctorTexts) -> str:
    """Return why MaiBot would reject a `.toml` file, on one line; "" if it would not.

    MaiBot >= 1.0 uses the standard library's parser: TOML 1.0, no BOM. Python 3.10 does not have
    that parser; there, only a BOM is detected. Raises `ConfigError` if the file cannot be read.
    """
    if file.suffix.lower() != ".toml":
        return ""
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", file=str(file)) from error
    if raw.startswith(codecs.BOM_UTF8):
        return texts("file.bom", file=file.name)
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return texts("file.utf16", file=file.name)
    try:
        import_module("tomllib").loads(raw.decode("utf-8"))
    except ImportError:
        return ""
    except ValueError as error:
        return texts("file.toml", file=file.name, message=error)
    return ""
