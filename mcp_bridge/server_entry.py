"""A raw table of the configuration, checked into a `ServerConfig`.

A wrong table never raises: it becomes a `ServerConfig` whose `error` says what is
wrong, so that it costs only itself.
"""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import control, redaction
from .entry_error import EntryError, NoTarget, kind
from .server_config import TRANSPORTS, Fault, ServerConfig, ToolRules, Transport
from .variables import Expander, MissingVariable


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
        return reader.read(raw, base), ""
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
        self._expander = expander
        self._secrets: set[str] = set()

    def read(self, raw: Mapping[str, Any], base: Path) -> ServerConfig:
        values = {_ALIASES.get(key, key): value for key, value in raw.items()}
        self._warn_unknown(values)
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
        names = tuple(dict.fromkeys(self._expander.names))
        config = ServerConfig(name=self.name, warnings=tuple(self.warnings), variables=names, **parsed)
        return replace(config, secrets=self.found_secrets(), identity=_identity(values, config))

    def found_secrets(self) -> frozenset[str]:
        return frozenset(filter(redaction.is_secret_value, self._secrets | self._expander.secrets))

    def _warn_unknown(self, values: Mapping[str, Any]) -> None:
        known = [*_PARSERS, *_ALIASES, "enabled"]
        for key in values:
            if key in _FOREIGN:
                self.warnings.append(f"key '{key}' of other programs is not taken over{_FOREIGN[key]}")
            elif key not in _PARSERS and key not in ("enabled", "disabled", "description"):
                other = _OTHER_WORDS.get(key.lower())
                near = [other] if other else difflib.get_close_matches(key.lower(), known, n=1)
                hint = f", did you mean '{near[0]}'?" if near else ""
                self.warnings.append(f"unknown key '{key}'{hint}")

    def _place(self, parsed: dict[str, Any]) -> None:
        """Decide the transport: exactly one of program and address, fitting what was stated."""
        stated = parsed.get("transport")
        if parsed.get("command") and parsed.get("url") and stated is None:
            raise EntryError("url", "has both command and url; keep one of them")
        if stated == "stdio" or (stated is None and not parsed.get("url")):
            if not parsed.get("command"):
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
        if not isinstance(value, str) or "\0" in value:
            raise EntryError(key, f"must be a string, not {kind(value)}")
        return self._expander(value)

    def scalar(self, key: str, value: object) -> str:
        """Return a number or a boolean as the text that a program expects (`true`, `8080`)."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (int, float)):
            return str(value)
        return self.text(key, value)

    def command(self, key: str, value: object) -> tuple[str, ...]:
        words = self.words(key, value) if isinstance(value, list) else (self.text(key, value).strip(),)
        if not words or not words[0]:
            raise EntryError(key, "is empty")
        return words

    def words(self, key: str, value: object) -> tuple[str, ...]:
        if isinstance(value, str):
            raise EntryError(key, f"must be a list: write {key} = {json.dumps(_split(value))}")
        if not isinstance(value, list):
            raise EntryError(key, f"must be a list of strings, not {kind(value)}")
        return tuple(self.scalar(f"{key}[{index}]", item) for index, item in enumerate(value))

    def patterns(self, key: str, value: object) -> tuple[str, ...]:
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise EntryError(key, "must be a list of strings")
        return tuple(value)

    def roots(self, key: str, value: object) -> tuple[str, ...]:
        paths = self.patterns(key, value)
        return tuple(p if "://" in p else Path(self._expander(p)).absolute().as_uri() for p in paths)

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
                if any(c in text or c in str(name) for c in "\r\n\0"):
                    raise EntryError(path, "must not contain line breaks")
                self._secrets |= redaction.header_secrets(text)
            elif isinstance(item, str) and redaction.is_secret_name(str(name)):
                # A default written in the file is no secret: what was set is remembered already.
                self._secrets |= set() if ":-" in item else {text}
        return checked

    def inherit(self, key: str, value: object) -> bool | tuple[str, ...]:
        return value if isinstance(value, bool) else self.patterns(key, value)

    def address(self, key: str, value: object) -> str:
        url = self.text(key, value).strip()
        if not url.lower().startswith(("http://", "https://")):
            raise EntryError(key, "must begin with http:// or https://")
        self._secrets |= redaction.url_secrets(url)
        return url

    def token(self, key: str, value: object) -> str:
        token = self.text(key, value).strip()
        self._secrets.add(token)
        return token

    def seconds(self, key: str, value: object) -> float:
        return control.seconds(key, value)

    def rates(self, key: str, value: object) -> control.RateLimits:
        return control.read_rates(key, value)

    def overrides(self, key: str, value: object) -> dict[str, control.ToolSettings]:
        return control.read_overrides(key, value)

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
        return ToolRules(**{side: self.patterns(f"{key}.{side}", globs) for side, globs in value.items()})


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _identity(raw: Mapping[str, Any], config: ServerConfig) -> str:
    """Describe the unexpanded entry without values of `env` and `headers`, userinfo and query."""
    kept: dict[str, Any] = {key: raw[key] for key in ("command", "args", "cwd", "transport") if key in raw}
    kept |= {key: sorted(map(str, raw[key])) for key in ("env", "headers") if raw.get(key)}
    kept["url"] = redaction.public_url(str(raw.get("url", "")))
    return json.dumps([config.name, kept, config.cwd], sort_keys=True, default=str)


_CHOICES = {"session": ("fresh", "shared", "chat"), "elicitation": ("decline", "defaults")}
_ALIASES = {"type": "transport"}
_OTHER_WORDS = {
    **dict.fromkeys(("serverurl", "baseurl", "httpurl", "endpoint", "address"), "url"),
    **dict.fromkeys(("environment", "envs", "env_vars"), "env"),
    **dict.fromkeys(("authorization", "token", "apikey", "api_key"), "bearer"),
    **dict.fromkeys(("cmd", "program", "executable"), "command"),
    **dict.fromkeys(("workdir", "workingdirectory", "working_dir", "directory"), "cwd"),
    **dict.fromkeys(("arguments", "argv"), "args"),
}
"""What other programs call our keys, in lower case."""
_FOREIGN = {
    "timeout": "; the limit of a call is call_timeout",
    "envFile": "; name the variables in env",
    "autoApprove": "",
    "alwaysAllow": "",
}
"""What other programs have in their files, and what to write instead."""
_PARSERS: Mapping[str, Callable[[_Reader, str, object], object]] = {
    "command": _Reader.command,
    "args": _Reader.words,
    "cwd": _Reader.text,
    "env": _Reader.variables,
    "inherit_env": _Reader.inherit,
    "url": _Reader.address,
    "transport": _Reader.transport,
    "headers": _Reader.variables,
    "bearer": _Reader.token,
    "verify": _Reader.boolean,
    "ca_file": _Reader.text,
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
    "chats": _Reader.patterns,
    "users": _Reader.patterns,
    "rate": _Reader.rates,
    "confirm": _Reader.patterns,
    "confirm_timeout": _Reader.seconds,
    "visible": _Reader.patterns,
    "override": _Reader.overrides,
    "send_media": _Reader.boolean,
    "roots": _Reader.roots,
    "elicitation": _Reader.choice,
    "pin": _Reader.boolean,
}
KEYS = (*_PARSERS, "enabled")
"""Every key that a server's table can have, in the order in which people read them."""
