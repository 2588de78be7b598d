"""Every tool of every MCP server, in a chat bot.

Nothing is imported before it is used: a bot's start must not wait for the SDK.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__

if TYPE_CHECKING:
    from .bridge.bridge import Bridge as Bridge
    from .bridge.bridge import ServerStatus as ServerStatus
    from .clients import HttpStatefulClient as HttpStatefulClient
    from .clients import HttpStatelessClient as HttpStatelessClient
    from .clients import StdIOStatefulClient as StdIOStatefulClient
    from .clients import StdioStatefulClient as StdioStatefulClient
    from .config.bridge_config import BridgeConfig as BridgeConfig
    from .config.bridge_config import load_config as load_config
    from .config.server_config import ServerConfig as ServerConfig
    from .errors import BridgeError as BridgeError
    from .errors import CallTimeout as CallTimeout
    from .errors import ConfigError as ConfigError
    from .errors import McpSessionNotEstablishedError as McpSessionNotEstablishedError
    from .errors import PermissionDenied as PermissionDenied
    from .errors import ServerUnavailable as ServerUnavailable
    from .errors import ToolExecutionError as ToolExecutionError
    from .errors import ToolNotFound as ToolNotFound
    from .hosts.base_tool import BaseTool as BaseTool
    from .hosts.base_tool import create_mcp_tool_class as create_mcp_tool_class
    from .one_server import ToolsetState as ToolsetState
    from .registry import MCPManager as MCPManager
    from .registry_config import MCPConfigLoader as MCPConfigLoader
    from .registry_config import MCPServerConfig as MCPServerConfig
    from .server_params import LocalServerParams as LocalServerParams
    from .server_params import RemoteServerParams as RemoteServerParams
    from .tool_def import ToolDef as ToolDef
    from .tool_function import MCPToolFunction as MCPToolFunction
    from .tools.result import Media as Media
    from .tools.result import ToolResult as ToolResult
    from .tools.tool import Tool as Tool
    from .toolset import LocalMcpToolset as LocalMcpToolset
    from .toolset import McpToolset as McpToolset
    from .toolset import RemoteMcpToolset as RemoteMcpToolset

_HOME = {
    "Bridge": ".bridge.bridge",
    "ServerStatus": ".bridge.bridge",
    "Tool": ".tools.tool",
    "HttpStatefulClient": ".clients",
    "HttpStatelessClient": ".clients",
    "StdIOStatefulClient": ".clients",
    "StdioStatefulClient": ".clients",
    "BridgeConfig": ".config.bridge_config",
    "load_config": ".config.bridge_config",
    "BridgeError": ".errors",
    "CallTimeout": ".errors",
    "ConfigError": ".errors",
    "McpSessionNotEstablishedError": ".errors",
    "PermissionDenied": ".errors",
    "ServerUnavailable": ".errors",
    "ToolExecutionError": ".errors",
    "ToolNotFound": ".errors",
    "BaseTool": ".hosts.base_tool",
    "create_mcp_tool_class": ".hosts.base_tool",
    "MCPConfigLoader": ".registry_config",
    "MCPManager": ".registry",
    "MCPServerConfig": ".registry_config",
    "ToolDef": ".tool_def",
    "Media": ".tools.result",
    "ToolResult": ".tools.result",
    "ServerConfig": ".config.server_config",
    "LocalMcpToolset": ".toolset",
    "LocalServerParams": ".server_params",
    "McpToolset": ".toolset",
    "RemoteMcpToolset": ".toolset",
    "RemoteServerParams": ".server_params",
    "ToolsetState": ".one_server",
    "MCPToolFunction": ".tool_function",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name], __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
