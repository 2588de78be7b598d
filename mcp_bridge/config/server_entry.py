"""Turn the raw table of one server into a `ServerConfig`.

A wrong table never raises: it becomes a `ServerConfig` that carries a `Mistake`, so that the other
servers are not affected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..text import redaction
from .entry_values import (
    address_objection,
    header_objection,
    read_address,
    read_boolean,
    read_callers,
    read_count,
    read_elicitation,
    read_globs,
    read_inherit,
    read_overrides,
    read_patterns,
    read_rates,
    read_rules,
    read_seconds,
    read_session,
    read_spare_count,
    read_token,
    read_transport,
    token_objection,
)
from .mistakes import ALIASES, BACKSLASH_HINT, EntryError, Mistake, as_words, odd_keys, type_name
from .server_config import ServerConfig, public_part
from .variables import Expander, MissingVariable, near_references

_DRIVE = re.compile(r"[A-Za-z]:")
_INDEX = re.compile(r"\[\d+\]$")


def parse_server(
    name: str, table: object, *, base: Path, expander: Expander, defaults: Mapping[str, Any] | None = None
) -> ServerConfig:
    """Return the checked entry; its `mistake` tells why it cannot be used, if it cannot.

    `base` is the folder of the configuration file, the default working directory.
    """
    reader = EntryReader(name, expander)
    try:
        if not isinstance(table, Mapping):
            raise EntryError("", f"must be a table, not {type_name(table)}")
        return reader.read({**(defaults or {}), **table}, base)
    except EntryError as error:
        return ServerConfig(
            name=name,
            enabled=reader.enabled,
            mistake=error.mistake,
            warnings=tuple(reader.warnings),
            secrets=reader.secrets(),
        )


class EntryReader:
    """Reads the keys of one entry; collects warnings and secrets, which are kept if reading fails."""

    def __init__(self, name: str, expander: Expander) -> None:
        self.name = name
        self.enabled = True
        self.warnings: list[str] = []
        self._impossible: Mistake | None = None
        """The first value of the right type that can never work."""
        self._expander = expander
        self._secrets: set[str] = set()

    def read(self, entry: Mapping[str, Any], base: Path) -> ServerConfig:
        """Return the checked entry. Raises `EntryError` for a value that cannot be read."""
        values = {ALIASES.get(key, key): value for key, value in entry.items()}
        self.warnings.extend(odd_keys(values, KEYS))
        self.enabled = not read_boolean("disabled", values["disabled"]) if "disabled" in values else True
        if "enabled" in values:
            self.enabled = read_boolean("enabled", values["enabled"])
        if not self.enabled:  # nothing else is checked: its variables may be unset, its program missing
            return ServerConfig(name=self.name, enabled=False)
        parsers = _parsers(self)
        parsed: dict[str, Any] = {
            key: parsers[key](key, value) for key, value in values.items() if key in parsers and value is not None
        }
        _settle_transport(parsed)
        _resolve_paths(parsed, base)
        return ServerConfig(
            name=self.name,
            mistake=self._impossible,
            warnings=tuple(self.warnings),
            variables=tuple(dict.fromkeys(self._expander.names)),
            secrets=self.secrets(),
            unexpanded=public_part(values),
            **parsed,
        )

    def secrets(self) -> frozenset[str]:
        """Return the secrets found so far."""
        return frozenset(filter(redaction.is_secret_value, self._secrets | self._expander.secrets))

    # The readers of values that may refer to variables, hold secrets or call for a warning.

    def text(self, key: str, value: object) -> str:
        if not isinstance(value, str):
            raise EntryError(key, f"must be a string, not {type_name(value)}")
        if "\0" in value:
            raise EntryError(key, "must not contain the character NUL")
        self.warnings.extend(f"{key}: {hint}" for hint in near_references(value))
        try:
            return self._expander(value)
        except MissingVariable as missing:
            text = f"{missing}; set it where the bot is started, or write ${{{missing.name}:-default}}"
            raise EntryError(_INDEX.sub("", key), text, kind="variable", variable=missing.name) from None

    def path(self, key: str, value: object) -> str:
        """Read a path or a program."""
        text = self.text(key, value).strip()
        if len(text) > 1 and text[0] == text[-1] == '"':  # Windows Explorer copies paths with quotes
            text = text[1:-1]
        if any(character in text for character in "\b\t\n\f\r"):
            self._object(key, f"contains a control character; {BACKSLASH_HINT}")
        return text

    def scalar(self, key: str, value: object) -> str:
        """Read a string, a number or a boolean as the text that a program expects (`true`, `8080`)."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (int, float)):
            return str(value)
        return self.text(key, value)

    def command(self, key: str, value: object) -> tuple[str, ...]:
        words = self.words(key, value) if isinstance(value, list) else (self.path(key, value),)
        if not words or not words[0]:
            raise EntryError(key, "is empty")
        return words

    def words(self, key: str, value: object) -> tuple[str, ...]:
        if isinstance(value, str):
            raise EntryError(key, f"must be a list: write {key} = {json.dumps(as_words(value))}")
        if not isinstance(value, list):
            raise EntryError(key, f"must be a list of strings, not {type_name(value)}")
        words = tuple(self.scalar(f"{key}[{index}]", item) for index, item in enumerate(value))
        for index, word in enumerate(words):
            if _DRIVE.match(word):
                self.path(f"{key}[{index}]", word)
        return words

    def env(self, key: str, value: object) -> dict[str, str]:
        variables: dict[str, str] = {}
        for name, path, item in _flat_table(key, value):
            variables[name] = text = self.scalar(path, item)
            if not name or "=" in name or "\0" in name:
                self._object(path, "is not a valid name of a variable")
            if name in KEYS:
                self.warnings.append(f"{path}: is a key of the server; write it above [mcp.servers.{self.name}.env]")
            # A default written in the file is not secret; the value of a variable is noted by the expander.
            if isinstance(item, str) and redaction.is_secret_name(name) and ":-" not in item:
                self._secrets.add(text)
        return variables

    def headers(self, key: str, value: object) -> dict[str, str]:
        headers: dict[str, str] = {}
        for name, path, item in _flat_table(key, value):
            headers[name] = text = self.scalar(path, item)
            self._secrets |= redaction.header_secrets(text.strip())
            self._object(path, header_objection(name, text))
        return headers

    def address(self, key: str, value: object) -> str:
        text = self.text(key, value)
        self._secrets |= redaction.url_secrets(text.strip())
        url = read_address(key, text)
        self._object(key, address_objection(url))
        return url

    def token(self, key: str, value: object) -> str:
        text = self.text(key, value)
        token = read_token(text)
        self._secrets |= {text.strip(), token}
        self._object(key, token_objection(token))
        return token

    def callers(self, key: str, value: object) -> tuple[str, ...]:
        return read_callers(key, value, self.warnings.append)

    def roots(self, key: str, value: object) -> tuple[str, ...]:
        return tuple(self.text(key, path) for path in read_patterns(key, value))

    def _object(self, key: str, objection: str) -> None:
        """Note why a value of the right type can never work, "" if it can; the rest is read nevertheless."""
        if objection and self._impossible is None:
            self._impossible = Mistake("impossible", key, objection)


def _parsers(reader: EntryReader) -> dict[str, Callable[[str, object], object]]:
    """Return the function that reads each key, in the order in which people write them."""
    return {
        "command": reader.command,
        "args": reader.words,
        "cwd": reader.path,
        "env": reader.env,
        "inherit_env": read_inherit,
        "url": reader.address,
        "transport": read_transport,
        "headers": reader.headers,
        "bearer": reader.token,
        "verify": read_boolean,
        "ca_file": reader.path,
        "sse_prefix": reader.text,
        "session": read_session,
        "warm": read_spare_count,
        "idle_timeout": read_seconds,
        "max_sessions": read_count,
        "connect_timeout": read_seconds,
        "first_start_timeout": read_seconds,
        "call_timeout": read_seconds,
        "max_call_time": read_seconds,
        "max_result_chars": read_count,
        "tools": read_rules,
        "chats": reader.callers,
        "users": reader.callers,
        "rate": read_rates,
        "confirm": read_globs,
        "confirm_timeout": read_seconds,
        "visible": read_globs,
        "override": read_overrides,
        "send_media": read_boolean,
        "roots": reader.roots,
        "elicitation": read_elicitation,
        "pin": read_boolean,
    }


KEYS = (*_parsers(EntryReader("", Expander())), "enabled")
"""Every key of a server's table."""


def _flat_table(key: str, value: object) -> Iterator[tuple[str, str, object]]:
    """Yield name, path and value of each row of `env` or `headers`. Raises `EntryError` for a nested value."""
    if not isinstance(value, Mapping):
        raise EntryError(key, f"must be a table, not {type_name(value)}")
    for name, item in value.items():
        path = f"{key}.{name}"
        if isinstance(item, (Mapping, list)) or item is None:
            raise EntryError(path, f"must be a string, a number or true/false, not {type_name(item)}")
        yield str(name), path, item


def _settle_transport(parsed: dict[str, Any]) -> None:
    """Set the transport, and check that exactly one of command and url is given and fits it."""
    stated, url = parsed.get("transport"), parsed.get("url")
    if parsed.get("command") and url and stated is None:
        raise EntryError("url", "has both command and url; keep one of them")
    if stated == "stdio" or (stated is None and not url):
        if parsed.get("command"):
            head, *rest = parsed["command"]
            parsed.update(transport="stdio", url="", command=head, args=(*rest, *parsed.get("args", ())))
        elif url:
            raise EntryError("transport", "is for programs, and there is a url; remove it")
        else:
            raise EntryError("command", "needs command or url", kind="target")
    elif url:
        parsed.update(transport=stated or "auto", command="")
    else:
        raise EntryError("url", f"needs url for transport '{stated}'")


def _resolve_paths(parsed: dict[str, Any], base: Path) -> None:
    """Make paths absolute, taking `base` as the current folder, and turn roots into URIs."""
    parsed["cwd"] = str(base / parsed.get("cwd", ""))
    if parsed.get("ca_file"):
        parsed["ca_file"] = str(base / parsed["ca_file"])
    if "roots" in parsed:
        parsed["roots"] = tuple(one if "://" in one else (base / one).absolute().as_uri() for one in parsed["roots"])
