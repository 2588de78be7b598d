"""The `mcp.json` of `MCPManager`: where it is searched for, and what it contains.

A file ending in `.toml` is read as a `config.toml`, any other as an `mcpServers` file, in which
`timeout` (seconds) is an alias of `call_timeout` and `DEFAULTS` apply.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..config.bridge_config import BridgeConfig, load_config, parse_config
from ..config.reading import read_mcp_servers
from ..config.server_config import ServerConfig
from ..errors import ConfigError

logger = logging.getLogger(__name__)

ENVIRONMENT_VARIABLE = "MCP_BRIDGE_CONFIG"
FILE_NAME = "mcp.json"
USER_FILE = f"~/.mcp-bridge/{FILE_NAME}"
DEFAULTS: Mapping[str, Any] = {"call_timeout": 30, "max_result_chars": 5000}
"""What programs with a registry expect: the time limit of a call in seconds, the characters of a result."""


@dataclass(frozen=True)
class MCPServerConfig:
    """One server of the file, `${VAR}` expanded; None for a key that it does not set.

    `transport` is as written, else "stdio", or "auto" for a server with a `url`. `timeout` is in seconds.
    """

    name: str
    transport: str
    command: str | None = None
    args: list[str] | None = None
    env: dict[str, str] | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)
    headers: dict[str, str] | None = field(default=None, repr=False)
    timeout: float = DEFAULTS["call_timeout"]


class MCPConfigLoader:
    """Finds and reads the configuration. Never raises: mistakes are logged."""

    @staticmethod
    def load(config_path: str | Path | None = None, workspace_root: str | Path = ".") -> list[MCPServerConfig]:
        """Return the servers of the first file that exists; none if no file exists or it cannot be read.

        Searched are the file named by the environment variable `MCP_BRIDGE_CONFIG`, `config_path`,
        `<workspace_root>/mcp.json` and `~/.mcp-bridge/mcp.json`. An invalid entry is left out with a
        warning, a disabled one silently.
        """
        config, entries = _read(config_path, workspace_root)
        for warning in config.warnings:
            logger.warning("%s", warning)
        for server in config.servers:
            if server.error and not _is_whole(server):
                logger.warning("MCP server '%s' left out: %s", server.name, server.error)
        usable = [server for server in config.servers if server.enabled and (not server.error or _is_whole(server))]
        return [_shown(server, entries.get(server.name, {})) for server in usable]

    @staticmethod
    def read(config_path: str | Path | None = None, workspace_root: str | Path = ".") -> BridgeConfig:
        """Return the same file as a `BridgeConfig`: invalid entries stay, as failed servers."""
        return _read(config_path, workspace_root)[0]


def _read(config_path: str | Path | None, workspace_root: str | Path) -> tuple[BridgeConfig, Mapping[str, Any]]:
    """Return the checked configuration, and its entries as written."""
    file = _find(config_path, workspace_root)
    if file is None:
        logger.debug("no %s found: no MCP servers", FILE_NAME)
        return BridgeConfig(), {}
    try:
        if file.suffix.lower() == ".toml":
            return load_config(file), {}
        entries, text = read_mcp_servers(file)
        servers = {name: _translated(entry) for name, entry in entries.items()}
        return parse_config({"mcp": {"servers": servers, "defaults": DEFAULTS}}, file=file, text=text), entries
    except ConfigError as error:
        logger.error("no MCP servers: %s", error.message)
        return BridgeConfig(), {}


def _find(config_path: str | Path | None, workspace_root: str | Path) -> Path | None:
    stated = [place for place in (os.environ.get(ENVIRONMENT_VARIABLE), config_path) if place]
    for place in (*stated, Path(workspace_root, FILE_NAME), USER_FILE):
        file = Path(os.path.expanduser(place)).absolute()
        if file.is_file():
            return file
        if place in stated:
            logger.warning("file %s does not exist; searching for another %s", file, FILE_NAME)
    return None


def _is_whole(server: ServerConfig) -> bool:
    """Return whether an entry is complete, even if its server cannot be started."""
    return server.mistake is not None and server.mistake.kind == "impossible"


def _translated(entry: Any) -> Any:
    if not isinstance(entry, Mapping) or "timeout" not in entry:
        return entry
    others = {key: value for key, value in entry.items() if key != "timeout"}
    return {"call_timeout": entry["timeout"], **others}


def _shown(server: ServerConfig, entry: Mapping[str, Any]) -> MCPServerConfig:
    return MCPServerConfig(
        name=server.name,
        transport=entry.get("transport") or entry.get("type") or server.transport,
        command=server.command or None,
        args=list(server.args) if server.args or entry.get("args") is not None else None,
        env=dict(server.env) if server.env or entry.get("env") is not None else None,
        url=server.url or None,
        headers=dict(server.headers) if server.headers or entry.get("headers") is not None else None,
        timeout=server.call_timeout,
    )
