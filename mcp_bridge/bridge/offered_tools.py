"""The tools that the bridge offers, under their public names."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from ..config.bridge_config import BridgeConfig
from ..config.rules import is_offered
from ..config.server_config import ServerConfig
from ..tools.names import assign_names
from ..tools.tool import Listing, RemoteTool, Tool, present

logger = logging.getLogger(__name__)

_SHOWN_LEFT_OUT = 10


class Listed(Protocol):
    """A server with its list of tools."""

    @property
    def config(self) -> ServerConfig: ...
    @property
    def listing(self) -> Listing: ...


class OfferedTools:
    """The offered `tools` by public name.

    `former` holds names that were offered earlier; `left_out` those that exceed `max_tools`.
    """

    def __init__(self, config: BridgeConfig) -> None:
        self.tools: dict[str, Tool] = {}
        self.former: set[str] = set()
        self._config = config
        self._presented: dict[str, tuple[RemoteTool, Tool | None]] = {}
        self.left_out: list[str] = []

    def reconfigure(self, config: BridgeConfig) -> None:
        """Use an edited configuration from the next `rebuild` on."""
        self._config = config
        self._presented.clear()

    def rebuild(self, servers: Iterable[Listed]) -> None:
        """Name and present the tools of these servers, whether or not the servers are up."""
        servers = tuple(servers)
        remotes = [tool for server in servers for tool in server.listing.tools]
        names = {tool.id: name for name, tool in assign_names(remotes).items()}
        configs = {server.config.name: server.config for server in servers}
        offered = {
            names[remote.id]: _described(remote, configs[remote.server])
            for remote in remotes
            if is_offered(configs[remote.server], remote.remote_name, remote.annotations)
        }
        self.former |= self.tools.keys()
        self.tools = self._limited(offered, list(configs))

    def _present(self, name: str, remote: RemoteTool) -> Tool | None:
        """Present a tool, or return it as presented before if neither it nor its name has changed."""
        known = self._presented.get(name)
        if known is not None and known[0] == remote:
            return known[1]
        tool = present(
            name,
            remote,
            profile=self._config.schema_profile,
            max_description_chars=self._config.max_description_chars,
        )
        self._presented[name] = remote, tool
        return tool

    def _limited(self, offered: dict[str, RemoteTool], order: list[str]) -> dict[str, Tool]:
        """Present at most `max_tools`: servers in the order of the configuration, tools by name."""
        most = self._config.max_tools
        kept: dict[str, Tool] = {}
        left_out: list[str] = []
        for name in sorted(offered, key=lambda name: (order.index(offered[name].server), name)):
            if len(kept) >= most:
                left_out.append(name)
            elif (tool := self._present(name, offered[name])) is not None:
                kept[name] = tool
        if left_out and left_out != self.left_out:
            shown = ", ".join(left_out[:_SHOWN_LEFT_OUT])
            if len(left_out) > _SHOWN_LEFT_OUT:
                shown += ", …"
            logger.warning("more than max_tools = %d tools; not offered: %s", most, shown)
        self.left_out = left_out
        return {name: kept[name] for name in offered if name in kept}


def _described(remote: RemoteTool, config: ServerConfig) -> RemoteTool:
    """Return a tool with the owner's description, if there is one."""
    description = config.settings(remote.remote_name).description
    return remote if description is None else replace(remote, description=description)
