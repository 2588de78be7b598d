"""A raw table of the configuration, checked into a `ServerConfig`.

A wrong table never raises: it becomes a `ServerConfig` whose `error` says what is
wrong, so that it costs only itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..text import redaction
from .entry_values import (
    address_objection,
    header_objection,
    read_address,
    read_callers,
    read_globs,
    read_overrides,
    read_patterns,
    read_rates,
    read_seconds,
    read_token,
    token_objection,
)
from .mistakes import ALIASES, BACKSLASH_HINT, EntryError, NoTarget, as_words, kind, odd_keys
from .server_config import TRANSPORTS, Fault, RateLimits, ServerConfig, ToolRules, ToolSettings, Transport, identity
from .variables import Expander, MissingVariable, near_references


def parse_server(
    name: str, table: object, *, base: Path, expander: Expander, defaults: Mapping[str, Any] | None = None
) -> tuple[ServerConfig, str]:
    """Return the checked entry and the key that its error is about ("" if none).

    `base` is the folder of the configuration file, the default working directory.
    """
    reader = _Reader(name, expander)
    try:
        if not isinstance(table, Mapping):
            raise EntryError("", f"must be a table, not {kind(table)}")
        raw = {**(defaults or {}), **table}
        config = reader.read(raw, base)
        if (wrong := reader.impossible) is None:
            return config, ""
        return replace(config, error=str(wrong), fault=Fault("impossible", wrong.key)), wrong.key
    except MissingVariable as missing:
        message = f"{missing}; set it where the bot is started, or write ${{{missing.name}:-default}}"
        return _failed(name, reader, message, Fault("variable", missing.name)), reader.key
    except NoTarget as wrong:
        return _failed(name, reader, str(wrong), Fault("target", wrong.key)), wrong.key
    except EntryError as wrong:
        return _failed(name, reader, str(wrong), Fault("entry", wrong.key)), wrong.key


def _failed(name: str, reader: _Reader, message: str, fault: Fault) -> ServerConfig:
    return ServerConfig(
        name=name,
        enabled=reader.enabled,
        error=message,
        fault=fault,
        warnings=tuple(reader.warnings),
        secrets=reader.found_secrets(),
    )


class _Reader:
    """Reads the keys of one entry; `key` is the one being read, for the error message."""

    def __init__(self, name: str, expander: Expander) -> None:
        self.name = name
        self.key = ""
        self.enabled = True
        self.warnings: list[str] = []
        self.impossible: EntryError | None = None
        """The first value that cannot be used although it is of the right kind."""
        self._expander = expander
        self._secrets: set[str] = set()

    def read(self, raw: Mapping[str, Any], base: Path) -> ServerConfig:
        values = {ALIASES.get(key, key): value for key, value in raw.items()}
        self.warnings.extend(odd_keys(values, KEYS))
        self.enabled = not self.boolean("disabled", values["disabled"]) if "disabled" in values else True
        if "enabled" in values:
            self.enabled = self.boolean("enabled", values["enabled"])
        if not self.enabled:  # its variables may be unset, its program gone: nothing else matters
            return ServerConfig(name=self.name, enabled=False)
        parsed: dict[str, Any] = {}
        for key, value in values.items():
            if key in _PARSERS and value is not None:
                self.key = key
                parsed[key] = _PARSERS[key](self, key, value)
        self._place(parsed)
        parsed.setdefault("cwd", str(base))
        parsed["cwd"] = str(base / parsed["cwd"])
        if parsed.get("ca_file"):
            parsed["ca_file"] = str(base / parsed["ca_file"])
        if "roots" in parsed:
            parsed["roots"] = tuple(p if "://" in p else (base / p).absolute().as_uri() for p in parsed["roots"])
        names = tuple(dict.fromkeys(self._expander.names))
        config = ServerConfig(name=self.name, warnings=tuple(self.warnings), variables=names, **parsed)
        return replace(config, secrets=self.found_secrets(), identity=identity(values, config))

    def found_secrets(self) -> frozenset[str]:
        return frozenset(filter(redaction.is_secret_value, self._secrets | self._expander.secrets))

    def _place(self, parsed: dict[str, Any]) -> None:
        """Decide the transport: exactly one of program and address, fitting what was stated."""
        stated = parsed.get("transport")
        if parsed.get("command") and parsed.get("url") and stated is None:
            raise EntryError("url", "has both command and url; keep one of them")
        if stated == "stdio" or (stated is None and not parsed.get("url")):
            if not parsed.get("command"):
                if parsed.get("url"):
                    raise EntryError("transport", "is for programs, and there is a url; remove it")
                raise NoTarget("command", "needs command or url")
            parsed["transport"], parsed["url"] = "stdio", ""
            head, *rest = parsed["command"]
            parsed["command"], parsed["args"] = head, (*rest, *parsed.get("args", ()))
        else:
            if not parsed.get("url"):
                raise EntryError("url", f"needs url for transport '{stated}'")
            parsed["transport"], parsed["command"] = stated or "auto", ""

    # One method per kind of value; each returns the checked value or raises EntryError.

    def boolean(self, key: str, value: object) -> bool:
        if not isinstance(value, bool):
            raise EntryError(key, f"must be true or false, not {kind(value)}")
        return value

    def text(self, key: str, value: object) -> str:
        if not isinstance(value, str):
            raise EntryError(key, f"must be a string, not {kind(value)}")
        if "\0" in value:
            raise EntryError(key, "must not contain the character NUL")
        self.warnings.extend(f"{key}: {hint}" for hint in near_references(value))
        return self._expander(value)

    def path(self, key: str, value: object) -> str:
        """Return a path, or a program: a control character in it was a backslash once."""
        text = self.text(key, value).strip()
        if len(text) > 1 and text[0] == text[-1] == '"':  # as Windows' Explorer copies a path
            text = text[1:-1]
        if any(character in text for character in "\b\t\n\f\r"):
            self._judge(key, f"contains a control character; {BACKSLASH_HINT}")
        return text

    def _judge(self, key: str, objection: str) -> None:
        """Note why a value of the right kind cannot be used, "" if it can; the entry is read on."""
        if objection and self.impossible is None:
            self.impossible = EntryError(key, objection)

    def scalar(self, key: str, value: object) -> str:
        """Return a number or a boolean as the text that a program expects (`true`, `8080`)."""
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
            raise EntryError(key, f"must be a list of strings, not {kind(value)}")
        words = tuple(self.scalar(f"{key}[{index}]", item) for index, item in enumerate(value))
        for index, word in enumerate(words):
            if _DRIVE.match(word):
                self.path(f"{key}[{index}]", word)
        return words

    def patterns(self, key: str, value: object) -> tuple[str, ...]:
        return read_patterns(key, value)

    def globs(self, key: str, value: object) -> tuple[str, ...]:
        return read_globs(key, value)

    def callers(self, key: str, value: object) -> tuple[str, ...]:
        return read_callers(key, value, self.warnings.append)

    def roots(self, key: str, value: object) -> tuple[str, ...]:
        return tuple(self.text(key, path) for path in read_patterns(key, value))

    def variables(self, key: str, value: object) -> dict[str, str]:
        """Return `env` or `headers`: a flat table, its secrets noted."""
        if not isinstance(value, Mapping):
            raise EntryError(key, f"must be a table, not {kind(value)}")
        checked: dict[str, str] = {}
        for name, item in value.items():
            self.key = path = f"{key}.{name}"
            if isinstance(item, (Mapping, list)) or item is None:
                raise EntryError(path, f"must be a string, a number or true/false, not {kind(item)}")
            checked[str(name)] = text = self.scalar(path, item)
            if key == "headers":
                self._secrets |= redaction.header_secrets(text.strip())
                self._judge(path, header_objection(str(name), text))
                continue
            if not name or "=" in str(name) or "\0" in str(name):
                self._judge(path, "is no name of a variable")
            if name in KEYS:
                self.warnings.append(f"{path}: is a key of the server; write it above [mcp.servers.{self.name}.env]")
            if isinstance(item, str) and redaction.is_secret_name(str(name)):
                # A default written in the file is no secret: what was set is remembered already.
                self._secrets |= set() if ":-" in item else {text}
        return checked

    def inherit(self, key: str, value: object) -> bool | tuple[str, ...]:
        return value if isinstance(value, bool) else self.patterns(key, value)

    def address(self, key: str, value: object) -> str:
        text = self.text(key, value)
        self._secrets |= redaction.url_secrets(text.strip())
        url = read_address(key, text)
        self._judge(key, address_objection(url))
        return url

    def token(self, key: str, value: object) -> str:
        text = self.text(key, value)
        self._secrets.add(text.strip())
        token = read_token(text)
        self._secrets.add(token)
        self._judge(key, token_objection(token))
        return token

    def seconds(self, key: str, value: object) -> float:
        return read_seconds(key, value)

    def rates(self, key: str, value: object) -> RateLimits:
        return read_rates(key, value)

    def overrides(self, key: str, value: object) -> dict[str, ToolSettings]:
        return read_overrides(key, value)

    def count(self, key: str, value: object) -> int:
        least = 0 if key == "warm" else 1
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise EntryError(key, f"must be a whole number, at least {least}")
        return value

    def transport(self, key: str, value: object) -> Transport:
        if not isinstance(value, str) or value not in TRANSPORTS:
            raise EntryError(key, f"must be one of {', '.join(TRANSPORTS)}")
        return TRANSPORTS[value]

    def choice(self, key: str, value: object) -> str:
        allowed = _CHOICES[key]
        if value not in allowed:
            raise EntryError(key, f"must be one of {', '.join(allowed)}")
        return str(value)

    def rules(self, key: str, value: object) -> ToolRules:
        if not isinstance(value, Mapping) or set(value) - {"allow", "deny"}:
            raise EntryError(key, 'must be a table such as { allow = ["*"], deny = ["delete_*"] }')
        return ToolRules(**{side: self.globs(f"{key}.{side}", globs) for side, globs in value.items()})


_DRIVE = re.compile(r"[A-Za-z]:")
_CHOICES = {"session": ("fresh", "shared", "chat"), "elicitation": ("decline", "defaults")}
_PARSERS: Mapping[str, Callable[[_Reader, str, object], object]] = {
    "command": _Reader.command,
    "args": _Reader.words,
    "cwd": _Reader.path,
    "env": _Reader.variables,
    "inherit_env": _Reader.inherit,
    "url": _Reader.address,
    "transport": _Reader.transport,
    "headers": _Reader.variables,
    "bearer": _Reader.token,
    "verify": _Reader.boolean,
    "ca_file": _Reader.path,
    "sse_prefix": _Reader.text,
    "session": _Reader.choice,
    "warm": _Reader.count,
    "idle_timeout": _Reader.seconds,
    "max_sessions": _Reader.count,
    "connect_timeout": _Reader.seconds,
    "first_start_timeout": _Reader.seconds,
    "call_timeout": _Reader.seconds,
    "max_call_time": _Reader.seconds,
    "max_result_chars": _Reader.count,
    "tools": _Reader.rules,
    "chats": _Reader.callers,
    "users": _Reader.callers,
    "rate": _Reader.rates,
    "confirm": _Reader.globs,
    "confirm_timeout": _Reader.seconds,
    "visible": _Reader.globs,
    "override": _Reader.overrides,
    "send_media": _Reader.boolean,
    "roots": _Reader.roots,
    "elicitation": _Reader.choice,
    "pin": _Reader.boolean,
}
KEYS = (*_PARSERS, "enabled")
"""Every key that a server's table can have, in the order in which people read them."""
