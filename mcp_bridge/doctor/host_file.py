"""Whether MaiBot could read the configuration: it does so first, with a parser stricter than ours."""

from __future__ import annotations

import codecs
from importlib import import_module
from pathlib import Path

from ..errors import ConfigError
from .words import Words


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
