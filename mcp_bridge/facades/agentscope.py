"""Make our tool functions instances of agentscope's own classes, so that its Toolkit accepts them.

Generation 1 (read: 1.0.21) registers `agentscope.mcp.MCPToolFunction`, generation 2 (read: 2.0.11)
`agentscope.tool.MCPTool`. Both call the server through `session.call_tool`. Here the function itself is
that session, so the call goes through the bridge.
"""

from __future__ import annotations

import logging
import re
from copy import deepcopy
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .tool_function import MCPToolFunction

logger = logging.getLogger(__name__)

_MODEL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The names of tools that model APIs accept."""


@cache
def tool_function_class() -> type[MCPToolFunction]:
    """Return the class of tool functions for the installed agentscope, or the plain one without it.

    The first call imports agentscope, which takes seconds: do not call it on an event loop.
    """
    if find_spec("agentscope") is None:
        return MCPToolFunction
    try:
        native = getattr(import_module("agentscope.mcp"), "MCPToolFunction", None)
        if native is not None:
            return _subclass(native, {"__init__": _begin_1(native), "__call__": native.__call__})
        native = import_module("agentscope.tool").MCPTool
        return _subclass(native, {"__init__": _begin_2(native), "__call__": native.__call__, "call": _call_2(native)})
    except Exception as error:  # a broken installation must not break programs that only use our clients
        logger.warning("agentscope cannot be imported, results are plain dicts: %s: %s", type(error).__name__, error)
        return MCPToolFunction


def _subclass(native: type[Any], attributes: dict[str, Any]) -> type[MCPToolFunction]:
    attributes |= {"__doc__": MCPToolFunction.__doc__, "__module__": __name__}
    return type("MCPToolFunction", (MCPToolFunction, native), attributes)


def _begin_1(native: Any) -> Any:
    def begin(self: Any, *arguments: Any, **options: Any) -> None:
        MCPToolFunction.__init__(self, *arguments, **options)
        native.__init__(
            self,
            mcp_name=self.mcp_name,
            tool=_sdk_tool(self),
            wrap_tool_result=self.wrap_tool_result,
            session=self,
            timeout=self.execution_timeout,
        )

    return begin


def _begin_2(native: Any) -> Any:
    def begin(self: Any, *arguments: Any, **options: Any) -> None:
        MCPToolFunction.__init__(self, *arguments, **options)
        own_name = self.name
        native.__init__(
            self, mcp_name=self.mcp_name, tool=_sdk_tool(self), session=self, timeout=self.execution_timeout
        )
        # The Toolkit shows this name to the model; an invalid one makes the API refuse all tools.
        self.name = own_name if _MODEL_NAME.fullmatch(own_name) else self.mcp_tool.name

    return begin


def _call_2(native: Any) -> Any:
    async def call(self: Any, **arguments: Any) -> Any:
        if self.wrap_tool_result:
            return await native.call(self, **arguments)
        return await self.call_tool(self.name, arguments, self.execution_timeout)

    return call


def _sdk_tool(function: MCPToolFunction) -> Any:
    from .. import _sdk

    schema = deepcopy(function.inputSchema)  # the Toolkit removes preset arguments from it
    return _sdk.tool(function.name, function.description, schema, function.annotations)
