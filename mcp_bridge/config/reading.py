"""Read configuration files as text, TOML, or JSON with comments. Every failure is a `ConfigError` with its place."""

from __future__ import annotations

import json
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from .mistakes import BACKSLASH_HINT, JSON_HINT

MAX_FILE_BYTES = 4 * 2**20
"""A larger file was probably named by mistake."""
_POSITION = re.compile(r"\(at line (\d+), column (\d+)\)")


def read_mcp_servers(file: Path) -> tuple[dict[str, Any], str]:
    """Return the unchecked servers of an `mcpServers` file and its text. Raises `ConfigError`.

    Each server is a table in the form of `config.toml`, whichever program wrote the file.
    """
    from .mcp_json import server_tables  # late: few configurations import another

    text = read_text(file)
    try:
        return server_tables(loads(text), file), text
    except json.JSONDecodeError as error:
        hint = f"; {JSON_HINT}" if "escape" in error.msg else ""
        raise ConfigError(error.msg + hint, file=str(file), line=error.lineno, column=error.colno) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"cannot be read as JSON: {type(error).__name__}", file=str(file)) from error


def read_text(file: Path) -> str:
    """Return the text of a configuration file, without a byte order mark. Raises `ConfigError`."""
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", file=str(file)) from error
    if len(raw) > MAX_FILE_BYTES:
        raise ConfigError("is larger than 4 MiB", file=str(file))
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    else:
        encoding = "utf-8-sig"
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError("is not UTF-8 text; save it as UTF-8", file=str(file), line=line) from error


def parse_toml(text: str, file: Path) -> dict[str, Any]:
    """Return the data of a `config.toml`; `file` is named in errors. Raises `ConfigError`."""
    try:
        # A bot may have the standard library only (Python >= 3.11).
        toml = import_module("tomli" if find_spec("tomli") else "tomllib")
    except ImportError:
        raise ConfigError("reading it needs the package tomli on Python 3.10", file=str(file)) from None
    try:
        parsed: dict[str, Any] = toml.loads(text)
        return parsed
    except ValueError as error:  # TOMLDecodeError of either module
        place = _POSITION.search(str(error))
        message = _POSITION.sub("", str(error)).strip()
        line, column = (int(place.group(1)), int(place.group(2))) if place else (len(text.splitlines()), 1)
        lines = text.splitlines()
        if 0 < line <= len(lines) and re.search(r'"[^"]*\\', lines[line - 1]):
            message += f"; {BACKSLASH_HINT}"
        raise ConfigError(message, file=str(file), line=line, column=column) from error
    except RecursionError as error:
        raise ConfigError("is nested too deeply", file=str(file)) from error


# Strings are matched first, so that comments and commas inside them are kept. An unterminated string or
# comment matches up to the end, so that the text is scanned only once.
_STRING = r'"(?:[^"\\\n]|\\.)*"?'
_COMMENT = re.compile(rf"{_STRING}|(?P<out>//[^\n]*|/\*(?:.*?\*/|.*))", re.DOTALL)
_COMMA = re.compile(rf"{_STRING}|(?P<out>,)(?=\s*[\]}}])", re.DOTALL)
_VISIBLE = re.compile(r"\S")


def loads(text: str) -> object:
    """Return the value of JSON with comments and trailing commas; the last of duplicate names counts.

    Raises `json.JSONDecodeError` with line and column, or `RecursionError` for text nested too deeply.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return json.loads(_COMMA.sub(_blank, _COMMENT.sub(_blank, text)))


def _blank(match: re.Match[str]) -> str:
    return match.group() if match["out"] is None else _VISIBLE.sub(" ", match.group())
