"""Every tool of every MCP server, in a chat bot.

Names are imported when they are first used: a bot's start must not wait for the SDK.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__

if TYPE_CHECKING:
    from .bridge.bridge import Bridge as Bridge
    from .bridge.bridge import ServerStatus as ServerStatus
    from .bridge.thread import BridgeThread as BridgeThread
    from .calls.call import Call as Call
    from .calls.call import Caller as Caller
    from .calls.call import Middleware as Middleware
    from .calls.call import Proceed as Proceed
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
    from .facades.clients import HttpStatefulClient as HttpStatefulClient
    from .facades.clients import HttpStatelessClient as HttpStatelessClient
    from .facades.clients import StdIOStatefulClient as StdIOStatefulClient
    from .facades.clients import StdioStatefulClient as StdioStatefulClient
    from .facades.registry import MCPManager as MCPManager
    from .facades.registry_config import MCPConfigLoader as MCPConfigLoader
    from .facades.registry_config import MCPServerConfig as MCPServerConfig
    from .facades.server_params import LocalServerParams as LocalServerParams
    from .facades.server_params import RemoteServerParams as RemoteServerParams
    from .facades.single_server import ToolsetState as ToolsetState
    from .facades.tool_def import ToolDef as ToolDef
    from .facades.tool_function import MCPToolFunction as MCPToolFunction
    from .facades.toolset import LocalMcpToolset as LocalMcpToolset
    from .facades.toolset import McpToolset as McpToolset
    from .facades.toolset import RemoteMcpToolset as RemoteMcpToolset
    from .hosts.base_tool import BaseTool as BaseTool
    from .hosts.base_tool import create_mcp_tool_class as create_mcp_tool_class
    from .tools.result import Media as Media
    from .tools.result import ToolResult as ToolResult
    from .tools.tool import Tool as Tool

_HOME = {
    "Bridge": ".bridge.bridge",
    "ServerStatus": ".bridge.bridge",
    "BridgeThread": ".bridge.thread",
    "Call": ".calls.call",
    "Caller": ".calls.call",
    "Middleware": ".calls.call",
    "Proceed": ".calls.call",
    "Tool": ".tools.tool",
    "HttpStatefulClient": ".facades.clients",
    "HttpStatelessClient": ".facades.clients",
    "StdIOStatefulClient": ".facades.clients",
    "StdioStatefulClient": ".facades.clients",
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
    "MCPConfigLoader": ".facades.registry_config",
    "MCPManager": ".facades.registry",
    "MCPServerConfig": ".facades.registry_config",
    "ToolDef": ".facades.tool_def",
    "Media": ".tools.result",
    "ToolResult": ".tools.result",
    "ServerConfig": ".config.server_config",
    "LocalMcpToolset": ".facades.toolset",
    "LocalServerParams": ".facades.server_params",
    "McpToolset": ".facades.toolset",
    "RemoteMcpToolset": ".facades.toolset",
    "RemoteServerParams": ".facades.server_params",
    "ToolsetState": ".facades.single_server",
    "MCPToolFunction": ".facades.tool_function",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name], __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
