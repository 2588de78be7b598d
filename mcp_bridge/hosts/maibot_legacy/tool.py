"""How tools are declared to MaiBot 0.10 to 0.12 (seen on 0.10.0 and 0.12.3) and called by it."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from typing import Any, ClassVar

from src.plugin_system import (  # type: ignore[import-not-found]  # only inside a bot
    BaseTool,
    ComponentType,
    ToolInfo,
    ToolParamType,
)

from ...config.rules import Caller
from ...tools.schema.flat import FlatParameter
from ..base_tool import Parameter

_NUMBERS = re.findall(r"\d+", getattr(sys.modules.get("src.config.config"), "MMC_VERSION", "0.12"))
HOST_VERSION = tuple(map(int, _NUMBERS[:2]))
PASSES_CHATS = HOST_VERSION >= (0, 11)
"""Earlier versions do not pass the chat to a tool."""
SENDS_JSON_TYPES = HOST_VERSION >= (0, 12)
"""Earlier versions send "float" and "bool" to the model API; a strict one refuses the whole request."""

_TYPES = {
    "string": ToolParamType.STRING,
    "integer": ToolParamType.INTEGER,
    "number": ToolParamType.FLOAT,
    "boolean": ToolParamType.BOOLEAN,
}
_AS_TEXT = {} if SENDS_JSON_TYPES else {"number": "a number", "boolean": "true or false"}


class LegacyTool(BaseTool):  # type: ignore[misc]  # the host is not installed with us
    """The base of the tool classes: four parameter types, or none, which the host's own class refuses up to 0.11.1."""

    host_arguments: ClassVar[Collection[str]] = frozenset({"llm_called"})

    def __init__(self, plugin_config: dict[str, Any] | None = None, chat_stream: Any = None) -> None:
        super().__init__(plugin_config)  # 0.10 has no second parameter
        caller = caller_of(chat_stream)
        self.chat, self.user = caller.chat, caller.user

    @classmethod
    def get_tool_definition(cls) -> dict[str, Any]:
        return {"name": cls.name, "description": cls.description, "parameters": cls.parameters}

    @classmethod
    def get_tool_info(cls) -> Any:
        return ToolInfo(
            name=cls.name,
            component_type=ComponentType.TOOL,
            description=cls.description,
            enabled=cls.available_for_llm,
            tool_description=cls.description,
            tool_parameters=cls.parameters,
        )

    @classmethod
    def flat_parameter(cls, flat: FlatParameter) -> Parameter:
        """Return the host's 5-tuple. A type that the host cannot send is requested as text and converted back."""
        description, kind = flat.description, _TYPES[flat.kind]
        if flat.kind in _AS_TEXT:
            description, kind = f"{description} ({_AS_TEXT[flat.kind]})", ToolParamType.STRING
        return flat.name, kind, description, flat.required, flat.enum


def caller_of(stream: Any) -> Caller:
    """Return the caller from a chat stream, with "" for a side that it does not name.

    The members of a group share its stream, so it does not name the one who asked.
    """
    if stream is None:
        return Caller("", "")
    platform, group, user = stream.platform, stream.group_info, stream.user_info
    if group is not None and group.group_id:
        return Caller(f"{platform}:group:{group.group_id}", "")
    if user is not None and user.user_id:
        return Caller(f"{platform}:private:{user.user_id}", f"{platform}:{user.user_id}")
    return Caller("", "")
