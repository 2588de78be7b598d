"""One server seen through every shape in which programs take in tools: what each really shows and says."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge import (
    Bridge,
    BridgeError,
    LocalMcpToolset,
    LocalServerParams,
    MCPManager,
    StdioStatefulClient,
    create_mcp_tool_class,
    load_config,
)
from mcp_bridge.hosts.openai import ToolCall, answer_calls, function_definitions
from tests.support.host_registry import Registry, write
from tests.support.legacy_host import LegacyHost
from tests.support.places import ODD_SERVER
from tests.support.processes import children
from tests.support.waiting import until

SERVER = "kitchen"
LEGACY = "MaiBot 0.10 - 0.12"
LIMIT_SECONDS = 2
"""The server's `call_timeout`, for every shape: one tool never answers."""
CALLS: Mapping[str, Mapping[str, Any]] = {
    "order": {"dish": "soup", "table": {"number": 3, "outside": True}, "extras": ["salt"]},
    "menu": {},
    "closed": {},
    "slow": {},
    "fire": {},
}
AFTERWARDS = "afterwards"
"""A call of `menu` when all is closed."""
COMMAND: dict[str, Any] = {"command": sys.executable, "args": [str(ODD_SERVER), SERVER]}


@dataclass(frozen=True)
class Reply:
    """What a call came to: a text, and the class of the exception that held it, "" if it was returned."""

    text: str
    raised: str = ""


@dataclass(frozen=True)
class View:
    """A server's tools in one shape, each by the name that the server gives it.

    A schema is a JSON Schema, or what the shape has instead; `definitions` are those of the OpenAI API.
    """

    names: Mapping[str, str]
    descriptions: Mapping[str, str]
    schemas: Mapping[str, Any]
    replies: Mapping[str, Reply]
    signature: str = ""
    definitions: tuple[Mapping[str, Any], ...] = ()


Call = Callable[[str, Mapping[str, Any]], Awaitable[str]]
"""How a tool is called in some shape: by the server's own name for it."""


async def reply(call: Awaitable[str]) -> Reply:
    try:
        return Reply(await call)
    except (BridgeError, RuntimeError) as error:
        return Reply(str(error), type(error).__name__)


async def replies(call: Call) -> dict[str, Reply]:
    return {name: await reply(call(name, arguments)) for name, arguments in CALLS.items()}


def described(tools: Mapping[str, Any], schema: str) -> tuple[dict[str, str], dict[str, str], dict[str, Any]]:
    """Return names, descriptions and schemas of objects that have them; `schema` is that attribute's name."""
    names = {name: one.name for name, one in tools.items()}
    return (
        names,
        {k: one.description for k, one in tools.items()},
        {k: getattr(one, schema) for k, one in tools.items()},
    )


def bridge(folder: Path) -> Bridge:
    return Bridge(load_config(folder / "config.toml"))


async def bot_tools(folder: Path) -> View:
    """`create_mcp_tool_class` on our own `BaseTool`."""
    async with bridge(folder) as opened:
        tools = {tool.remote_name: create_mcp_tool_class(tool, opened) for tool in opened.tools()}

        async def call(name: str, arguments: Mapping[str, Any]) -> str:
            return str((await tools[name]().execute(dict(arguments)))["content"])

        found = await replies(call)
    found[AFTERWARDS] = await reply(call("menu", {}))
    return View(*described(tools, "input_schema"), found)


async def legacy_tools(folder: Path) -> View:
    """The tool classes that the plugin registers with MaiBot 0.12, whose model writes nested arguments as text."""
    before = children()
    host = LegacyHost(folder / "bot", "0.12.2")
    try:
        (host.folder / "config.toml").write_bytes((folder / "config.toml").read_bytes())
        await host.load_and_wait(*(f"mcp_{SERVER}_{name}" for name in CALLS))
        tools = {cls.mcp_tool.remote_name: cls for cls in host.registry.classes.values()}
        shown = {cls.mcp_tool.remote_name: host.definitions()[name] for name, cls in host.registry.classes.items()}
        schemas = {k: [(n, t.value, d, r, e) for n, t, d, r, e in one["parameters"]] for k, one in shown.items()}

        async def call(name: str, arguments: Mapping[str, Any]) -> str:
            flat = {key: one if isinstance(one, str) else json.dumps(one) for key, one in arguments.items()}
            return str((await tools[name]({}, None).execute({**flat, "llm_called": True}))["content"])

        found = await replies(call)
        await host.unload()
        gc.collect()  # the host has no hook for unloading: the servers end with the plugin's object
        found[AFTERWARDS] = await reply(call("menu", {}))
    finally:
        host.close()
        for name in [name for name in sys.modules if name.partition(".")[0] == "plugins"]:
            del sys.modules[name]
    await until(lambda: children() <= before)
    names, descriptions = ({k: one[key] for k, one in shown.items()} for key in ("name", "description"))
    return View(names, descriptions, schemas, found)


class Toolset(LocalMcpToolset):
    """With the limit that the other shapes have; 60 s is what a toolset gives a call."""

    def _entry(self) -> dict[str, Any]:
        return {**super()._entry(), "call_timeout": LIMIT_SECONDS}


async def toolset(folder: Path) -> View:
    """`McpToolset.get_tools()`."""
    params = LocalServerParams(COMMAND["command"], COMMAND["args"])
    async with Toolset(SERVER, params, auto_reconnect=True) as opened:
        functions = {vars(one)["_mcp_tool"].remote_name: one for one in opened.get_tools()}

        async def call(name: str, arguments: Mapping[str, Any]) -> str:
            return await functions[name](**arguments)

        found = await replies(call)
    found[AFTERWARDS] = await reply(call("menu", {}))
    names = {name: one.__name__ for name, one in functions.items()}
    descriptions = {name: str(one.__doc__).partition("\n")[0] for name, one in functions.items()}
    schemas = {name: vars(one)["_mcp_tool"].input_schema for name, one in functions.items()}
    return View(names, descriptions, schemas, found, str(inspect.signature(functions["order"])))


async def manager(folder: Path) -> View:
    """The `ToolDef`s that `MCPManager` registers."""
    opened, registry = MCPManager(folder), Registry()
    await opened.initialize(registry)
    tools = {opened.origin(name)[1]: tool for name, tool in registry.tools.items() if tool is not None}

    async def call(name: str, arguments: Mapping[str, Any]) -> str:
        return await asyncio.to_thread(tools[name].func, **arguments)

    found = await replies(call)
    await opened.shutdown()
    found[AFTERWARDS] = await reply(call("menu", {}))
    definitions = tuple(tool.to_openai_schema() for tool in tools.values())
    return View(*described(tools, "input_schema"), found, definitions=definitions)


async def client(folder: Path) -> View:
    """The `MCPToolFunction`s of `StdioStatefulClient`."""
    async with StdioStatefulClient(SERVER, **COMMAND, call_timeout=LIMIT_SECONDS) as opened:
        tools = {tool.name: tool for tool in await opened.list_tools()}

        async def call(name: str, arguments: Mapping[str, Any]) -> str:
            (block,) = (await tools[name](**arguments)).content
            return str(block["text"])

        found = await replies(call)
    found[AFTERWARDS] = await reply(call("menu", {}))
    return View(*described(tools, "inputSchema"), found)


async def openai_functions(folder: Path) -> View:
    """`function_definitions`, and `answer_calls` for what the model asks for."""
    async with bridge(folder) as opened:
        remote = {tool.name: tool.remote_name for tool in opened.tools()}
        definitions = function_definitions(opened.tools())
        shown = {remote[one["function"]["name"]]: one["function"] for one in definitions}

        async def call(name: str, arguments: Mapping[str, Any]) -> str:
            (message,) = await answer_calls(opened, [ToolCall("1", shown[name]["name"], json.dumps(arguments))])
            return str(message["content"])

        found = await replies(call)
    found[AFTERWARDS] = await reply(call("menu", {}))
    names, descriptions, schemas = (
        {k: f[key] for k, f in shown.items()} for key in ("name", "description", "parameters")
    )
    return View(names, descriptions, schemas, found, definitions=tuple(definitions))


SHAPES: Mapping[str, Callable[[Path], Awaitable[View]]] = {
    "bot": bot_tools,
    LEGACY: legacy_tools,
    "McpToolset": toolset,
    "MCPManager": manager,
    "StdioStatefulClient": client,
    "OpenAI": openai_functions,
}


def gather(folder: Path) -> dict[str, View]:
    """Start the server in every shape, a folder for each, and return what is seen."""

    async def look() -> dict[str, View]:
        return {shape: await see(folder / str(number)) for number, (shape, see) in enumerate(SHAPES.items())}

    for number in range(len(SHAPES)):
        own = folder / str(number)
        own.mkdir()
        words = ", ".join(json.dumps(word) for word in COMMAND["args"])
        toml = f"[mcp.servers.{SERVER}]\ncommand = {json.dumps(COMMAND['command'])}\nargs = [{words}]\n"
        (own / "config.toml").write_text(f"{toml}call_timeout = {LIMIT_SECONDS}\n", encoding="utf-8")
        write(own, {SERVER: {**COMMAND, "timeout": LIMIT_SECONDS}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MCP_BRIDGE_DATA_DIR", str(folder / "data"))
        patch.delenv("MCP_BRIDGE_CONFIG", raising=False)
        return asyncio.run(look())
