"""How a tool is declared to MaiBot >= 1.0 (seen on 1.3.15, SDK 2.16), and how its answer is returned."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from ..._typing import assert_never
from ...config.rules import Caller, matches
from ...config.server_config import ServerConfig
from ...text import json_text
from ...tools.result import Media, ToolResult
from ...tools.tool import Tool
from ..base_tool import BaseTool

logger = logging.getLogger(__name__)

SPARE_SECONDS = 5.0
"""Added to our own limits for the host's limit, so that our error arrives before the host's."""
SEND_SECONDS = 20.0
"""Time limit for sending one image or audio into the chat."""
MAX_SENT = 5
"""Most images and audio of one result that are sent into the chat."""
MAX_ANSWER_BYTES = 8 * 2**20
"""Most media of one answer: a frame of the host holds 16 MiB, and base64 adds a third."""


class MaiBotTool(BaseTool):
    """The base of the tool classes in MaiBot: the arguments that the host adds, and the form of its answers."""

    host_arguments: ClassVar[Collection[str]] = frozenset(
        {
            "stream_id",
            "chat_id",
            "group_id",
            "user_id",
            "platform",
            "self",
            "component_name",
            "handler_method",
        }
    )

    mcp_tool: ClassVar[Tool]
    media: Sequence[Media] = ()
    """The media of the last answer."""

    def answer(self, result: ToolResult) -> dict[str, Any]:
        """Return the answer for the host. A failure needs `content` and `error`, or the model sees raw JSON."""
        self.media = result.media
        answer: dict[str, Any] = {
            "success": not result.is_error,
            "content": result.text,
            "error": result.text if result.is_error else "",
        }
        if items := _content_items(result):
            answer["content_items"] = items
        return answer


def _content_items(result: ToolResult) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    left = MAX_ANSWER_BYTES
    for media in result.media:
        if len(media.data) > left or (item := _content_item(media)) is None:
            continue
        left -= len(media.data)
        items.append(item)
    if items:
        items.insert(0, {"content_type": "text", "text": result.text})
    return items


def _content_item(media: Media) -> dict[str, Any] | None:
    """Return the host's item for a picture or a sound, None for a file: the host does not show files."""
    match media.type:
        case "image" | "audio":
            data = base64.b64encode(media.data).decode("ascii")
            return {"content_type": media.type, "data": data, "mime_type": media.mime_type, "name": media.name}
        case "file":
            return None
        case _:
            return assert_never(media.type)


def declare(tool: type[MaiBotTool], config: ServerConfig, *, visible: bool) -> dict[str, Any]:
    """Return the component that declares a tool to the host."""
    scope, sessions = _where(config)
    metadata = {
        "description": tool.description,
        "parameters_raw": tool.input_schema,
        "visibility": "visible" if visible else "deferred",
        # The plugin has no attribute of that name, so the host calls `invoke_component`.
        "handler_name": f"mcp-bridge:{tool.name}",
        "timeout_ms": int(_seconds(tool.mcp_tool, config) * 1000),
    }
    component: dict[str, Any] = {
        "type": "TOOL",
        "name": tool.name,
        "description": tool.description,
        "metadata": json_text.plain(metadata),
        "chat_scope": scope,
    }
    if sessions:
        component["allowed_session"] = sessions
    return component


def shown_names(tools: Sequence[Tool], configs: Mapping[str, ServerConfig], most: int) -> set[str]:
    """Return the names of the visible tools; the others are deferred.

    Visible are the tools that the owner names, then the first tools of servers for which he names none, up to
    `most` in all.
    """
    chosen, others = set(), []
    for tool in tools:
        config = configs[tool.server]
        visibility = config.settings(tool.remote_name).visibility
        if visibility == "visible" or (
            visibility is None and matches(config.visible or (), tool.remote_name, tool.annotations)
        ):
            chosen.add(tool.name)
        elif visibility is None and config.visible is None:
            others.append(tool.name)
    return chosen | set(others[: max(most - len(chosen), 0)])


def _seconds(tool: Tool, config: ServerConfig) -> float:
    """Return the host's time limit in seconds: longer than all our own limits together."""
    call = config.call_limits(tool.remote_name).total
    asking = config.confirm_timeout if matches(config.confirm, tool.remote_name, tool.annotations) else 0
    sending = MAX_SENT * SEND_SECONDS if config.send_media else 0
    return config.connect_timeout + call + asking + sending + SPARE_SECONDS


def _where(config: ServerConfig) -> tuple[str, list[str]]:
    """Return the host's `chat_scope` and `allowed_session`: the closest match to `chats`.

    The host lists tools for groups by exact id, or for all private chats; other patterns are checked
    at each call.
    """
    if config.chats is None:
        return "all", []
    parts = [pattern.split(":") for pattern in config.chats]
    kinds = {part[1] if len(part) == 3 else "group" if len(part) == 2 else "*" for part in parts}
    if kinds == {"private"}:
        return "private", []
    if kinds != {"group"}:
        return "all", []
    exact = not any(character in pattern for pattern in config.chats for character in "*?[")
    return "group", [f"{part[0]}:{part[-1]}" for part in parts] if exact else []


def caller_of(arguments: Mapping[str, Any]) -> Caller:
    """Return the caller from the arguments that the host adds to a call, "" for a side that it leaves out.

    In a group it leaves out the user (seen on 1.3.15). Only the pattern "*" admits an unknown side.
    """
    platform, group, user = (str(arguments.get(key) or "") for key in ("platform", "group_id", "user_id"))
    if not platform or not (group or user):
        return Caller("", "")
    chat = f"{platform}:group:{group}" if group else f"{platform}:private:{user}"
    return Caller(chat, f"{platform}:{user}" if user else "")


async def send_media(send: Any, stream_id: str, media: Sequence[Media]) -> int:
    """Send images and audio through the host's `ctx.send`; return how many were sent."""
    wanted = [one for one in media if one.type != "file"][:MAX_SENT]
    sent = 0
    for one in wanted if stream_id else ():
        data = base64.b64encode(one.data).decode("ascii")
        try:
            match one.type:
                case "image":
                    sending = send.image(data, stream_id)
                case "audio":
                    sending = send.custom("voice", data, stream_id)
                case "file":
                    continue
                case _:
                    assert_never(one.type)
            answer = await asyncio.wait_for(sending, SEND_SECONDS)
        except Exception as error:  # an error of the platform's adapter must not cost the model its answer
            logger.warning("a result's %s could not be sent into the chat: %s", one.type, error or type(error).__name__)
            continue
        sent += answer is not False
    return sent
