"""Run MaiBot's plugin runtime in a scratch instance and obey JSON commands.

This script is started by `host.RealHost` with the instance as working directory
and ``MAIBOT_INSTANCE_DIR`` set. It reads one JSON object per line from the
socket whose descriptor is its only argument, ``{"id", "command", "arguments"}``,
and answers each with one line, ``{"id", "value"}`` or ``{"id", "error"}``.
Commands run concurrently. Standard output belongs to MaiBot's log alone.

The end of the socket stops the runtime, so that a killed test session leaves
no bot behind.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import socket
import sys
import time
import traceback
from types import SimpleNamespace
from typing import Any

MAX_LINE = 64 * 1024 * 1024
"""Longest command or answer, in bytes; an answer may hold images."""

SHUTDOWN_SECONDS = 30.0
"""Longest orderly stop of the runtime; after that the process just ends."""


def plain(value: Any) -> Any:
    """Turn a host value into JSON types; what JSON does not know becomes its `repr`."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return repr(value)


class Driver:
    """The plugin runtime of one instance, with a method for each command."""

    def __init__(self) -> None:
        """Import the host; `import_seconds` says how long that took."""
        begin = time.monotonic()
        from src.core.tooling import ToolRegistry
        from src.plugin_runtime.integration import get_plugin_runtime_manager
        from src.plugin_runtime.tool_provider import PluginToolProvider

        self.manager = get_plugin_runtime_manager()
        self.registry = ToolRegistry()
        self.registry.register_provider(PluginToolProvider())
        self.import_seconds = time.monotonic() - begin

        self.said: list[dict[str, str]] = []

    async def start(self) -> dict[str, float]:
        """Start the runtime as the bot does; answer with durations in seconds."""
        begin = time.monotonic()
        self.stand_in_for_platforms()
        await self.manager.start()
        if not self.manager.is_running:
            raise RuntimeError("the plugin runtime did not start; see the log")
        return {"import": self.import_seconds, "start": time.monotonic() - begin}

    async def tools(self, context: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """List what the model would be offered, optionally in the chat that `context` describes."""
        from src.core.tooling import ToolAvailabilityContext
        from src.llm_models.payload_content.tool_option import normalize_tool_option

        chat = None if context is None else ToolAvailabilityContext(**context)
        listed = []
        for spec in await self.registry.list_tools(chat):
            option = normalize_tool_option(spec.to_llm_definition())
            listed.append({"schema": option.to_openai_function_schema(), "metadata": plain(spec.metadata)})
        return listed

    async def call(self, name: str, arguments: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
        """Call a tool as the planner does; answer with every field of the host's result."""
        from src.core.tooling import ToolExecutionContext, ToolInvocation

        invocation = ToolInvocation(tool_name=name, arguments=arguments, call_id="test")
        result = await self.registry.invoke(invocation, ToolExecutionContext(**context))
        return {**plain(result), "history": result.get_history_content()}

    def stand_in_for_platforms(self) -> None:
        """Note what plugins say in chats: there is no platform to say it on."""
        from src.services import send_service

        def sender(kind: str) -> Any:
            async def send(**given: Any) -> Any:
                content = next(given[key] for key in ("text", "image_base64", "content") if key in given)
                self.said.append({"kind": kind, "stream": str(given["stream_id"]), "content": str(content)})
                return SimpleNamespace(platform_message_id="1")

            return send

        send_service.text_to_stream_with_message = sender("text")
        send_service.image_to_stream_with_message = sender("image")
        send_service.custom_to_stream_with_message = sender("custom")

    async def heard(self) -> list[dict[str, str]]:
        """Return what plugins have said so far."""
        return list(self.said)

    async def write(self, text: str, platform: str, user_id: str, group_id: str, stream_id: str) -> bool:
        """Have a user write a message; tell whether a command took it, so that the bot does not talk about it."""
        from src.plugin_runtime.component_query import component_query_service
        from src.plugin_runtime.host.message_utils import PluginMessageUtils

        found = component_query_service.find_command_by_text(text)
        if found is None:
            return False
        executor, groups, _ = found
        person = SimpleNamespace(user_id=user_id)
        group = SimpleNamespace(group_id=group_id) if group_id else None
        info = SimpleNamespace(user_info=person, group_info=group, additional_config={})
        message = SimpleNamespace(processed_plain_text=text, session_id=stream_id, platform=platform, message_info=info)
        PluginMessageUtils._session_message_to_dict = staticmethod(lambda *_, **__: {})
        _, _, taken = await executor(message=message, matched_groups=groups)
        return bool(taken)

    async def page(self, api: str, arguments: dict[str, Any]) -> Any:
        """Call an API that the plugin's page is bound to, as the web UI does; without one, return the page."""
        for supervisor in self.manager.supervisors:
            for plugin, extension in supervisor.get_webui_extensions().items():
                if not api:
                    return extension.model_dump(mode="json")
                entry = supervisor.api_registry.get_api(plugin, api, version="1")
                response = await supervisor.invoke_api(plugin, entry.handler_name, args=arguments, timeout_ms=10000)
                return response.error or response.payload["result"]
        return None

    async def statuses(self) -> dict[str, Any]:
        """Tell which plugins are loaded, and why others are not."""
        return {**plain(await self.manager.get_plugin_state_snapshot())}

    async def unload(self, plugin: str) -> dict[str, Any]:
        """Unload one plugin."""
        for supervisor in self.manager.supervisors:
            if plugin in supervisor.get_loaded_plugin_ids():
                return dict((await supervisor.unload_plugins([plugin])).model_dump())
        raise LookupError(f"{plugin} is not loaded")

    async def reload(self, plugin: str) -> bool:
        """Load a plugin again, or for the first time."""
        return bool(await self.manager.load_plugin_globally(plugin))

    async def stop(self) -> None:
        """Stop the runtime in the orderly way; idempotent."""
        await self.manager.stop()


async def answer(driver: Driver, line: bytes, writer: asyncio.StreamWriter) -> None:
    """Run one command and write its answer; whatever it raises becomes the answer."""
    request = json.loads(line)
    reply: dict[str, Any] = {"id": request["id"]}
    try:
        reply["value"] = await getattr(driver, request["command"])(**request["arguments"])
    except Exception:
        reply["error"] = traceback.format_exc()
    writer.write(json.dumps(reply).encode() + b"\n")
    await writer.drain()


async def serve(connection: socket.socket) -> None:
    """Obey commands until the other side closes, then stop the runtime."""
    from src.common.runtime_loop import set_main_loop

    set_main_loop(asyncio.get_running_loop())
    driver = Driver()
    reader, writer = await asyncio.open_connection(sock=connection, limit=MAX_LINE)
    running: set[asyncio.Task[None]] = set()
    while line := await reader.readline():
        task = asyncio.create_task(answer(driver, line, writer))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.wait_for(driver.stop(), SHUTDOWN_SECONDS)


if __name__ == "__main__":
    try:
        asyncio.run(serve(socket.socket(fileno=int(sys.argv[1]))))
    except Exception:
        traceback.print_exc()
    finally:
        # The host leaves threads that would keep the interpreter alive.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
