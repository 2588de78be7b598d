"""A stand-in for MaiBot 0.10 to 0.12: as much of `src.plugin_system` as a plugin with tools meets.

It is as strict as the real one where that matters: what its model client asserts of parameters is
asserted here, the first tool of a name wins, and there is no hook for unloading.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from enum import Enum
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

from tests.support.places import ROOT
from tests.support.waiting import GENEROUS, until

FOLDER = "mcp-bridge"


class ToolParamType(Enum):
    STRING = "string"
    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "bool"


class ComponentType(Enum):
    ACTION = "action"
    TOOL = "tool"


@dataclass
class ToolInfo:
    name: str
    component_type: ComponentType = ComponentType.TOOL
    description: str = ""
    enabled: bool = True
    plugin_name: str = ""
    tool_parameters: list[Any] = field(default_factory=list)
    tool_description: str = ""


class BaseTool:
    """As in 0.10: no chat stream, and no definition without parameters."""

    name: ClassVar[str] = ""
    description: ClassVar[str] = ""
    parameters: ClassVar[list[Any]] = []
    available_for_llm: ClassVar[bool] = False

    def __init__(self, plugin_config: dict[str, Any] | None = None) -> None:
        self.plugin_config = plugin_config or {}

    @classmethod
    def get_tool_definition(cls) -> dict[str, Any]:
        if not cls.name or not cls.description or not cls.parameters:
            raise NotImplementedError(cls.__name__)
        raise AssertionError("a tool of ours answers itself")


class BasePlugin:
    """Reads no configuration: `config_file_name` must be empty, or the host would."""

    plugin_name = ""
    config_file_name = "config.toml"
    manifest_file_name = "_manifest.json"

    def __init__(self, plugin_dir: str) -> None:
        assert not self.config_file_name
        assert (Path(plugin_dir) / self.manifest_file_name).is_file()
        self.plugin_dir = plugin_dir
        self.plugin_info = SimpleNamespace(name=self.plugin_name, components=[])


class Registry:
    def __init__(self) -> None:
        self.infos: dict[str, ToolInfo] = {}
        self.classes: dict[str, Any] = {}
        self.plugins: dict[str, Any] = {}

    def get_component_info(self, name: str, kind: ComponentType) -> ToolInfo | None:
        return self.infos.get(name) if kind is ComponentType.TOOL else None

    def get_plugin_info(self, name: str) -> Any:
        return self.plugins.get(name)

    def register_component(self, info: ToolInfo, tool: Any) -> bool:
        assert issubclass(tool, BaseTool)
        if "." in info.name or info.name in self.infos:
            return False
        self.infos[info.name], self.classes[info.name] = info, tool
        return True

    async def remove_component(self, name: str, kind: ComponentType, plugin: str) -> bool:
        del self.infos[name], self.classes[name]
        return True


class LegacyHost:
    """A bot in `root`, with a copy of the plugin folder; to be loaded inside a running loop, or without one."""

    def __init__(self, root: Path, version: str) -> None:
        self.registry = Registry()
        self.chats = version != "0.10.0"
        self.folder = root / "plugins" / FOLDER
        self._classes: list[Any] = []
        self._plugin: Any = None
        self._modules = {
            "src": ModuleType("src"),
            "src.config.config": ModuleType("src.config.config"),
            "src.plugin_system": ModuleType("src.plugin_system"),
            "src.plugin_system.core": ModuleType("src.plugin_system.core"),
        }
        vars(self._modules["src.config.config"])["MMC_VERSION"] = version
        vars(self._modules["src.plugin_system.core"])["component_registry"] = self.registry
        for one in (BasePlugin, BaseTool, ComponentType, ToolInfo, ToolParamType):
            setattr(self._modules["src.plugin_system"], one.__name__, one)
        vars(self._modules["src.plugin_system"])["register_plugin"] = self._register
        if not self.folder.exists():
            left_out = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / "mcp_bridge", self.folder / "mcp_bridge", ignore=left_out)
            for name in ("plugin.py", "_manifest.json", "_manifest.v1.json"):
                shutil.copy(ROOT / name, self.folder)
        sys.path.insert(0, str(root))
        sys.modules.update(self._modules)

    def _register(self, cls: Any) -> Any:
        assert cls.__module__ == f"plugins.{FOLDER}", "the host finds the folder by the class's module"
        self._classes.append(cls)
        return cls

    def load(self) -> bool:
        """Import the plugin and register its tools, all at once as the host does; tell whether it is enabled."""
        spec = spec_from_file_location(f"plugins.{FOLDER}", self.folder / "plugin.py")
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)  # the host does not put it into sys.modules
        module.__package__ = f"plugins.{FOLDER}"
        spec.loader.exec_module(module)
        plugin = self._classes.pop()(plugin_dir=str(self.folder))
        if not plugin.enable_plugin:
            return False
        for info, tool in plugin.get_plugin_components():
            info.plugin_name = plugin.plugin_name
            if self.registry.register_component(info, tool):
                plugin.plugin_info.components.append(info)
        self.registry.plugins[plugin.plugin_name] = plugin.plugin_info
        self._plugin = plugin
        return True

    async def load_and_wait(self, *names: str) -> None:
        """Load the plugin and wait for tools, which on a busy machine come after the host's start."""
        assert self.load()
        await until(lambda: set(names) <= self.registry.classes.keys(), 2 * GENEROUS)

    async def unload(self) -> None:
        """Remove what the plugin has registered, and forget it."""
        plugin, self._plugin = self._plugin, None
        for info in plugin.plugin_info.components:
            assert await self.registry.remove_component(info.name, info.component_type, plugin.plugin_name)
        del self.registry.plugins[plugin.plugin_name]

    def definitions(self) -> dict[str, dict[str, Any]]:
        """Return what the model is offered, checked as the model client of the host checks it."""
        found = {name: tool.get_tool_definition() for name, tool in self.registry.classes.items()}
        for name, definition in found.items():
            assert definition["name"] == name
            assert definition["description"]
            for parameter in definition["parameters"]:
                assert isinstance(parameter, tuple)
                label, kind, description, required, enum = parameter
                assert isinstance(label, str)
                assert isinstance(kind, ToolParamType)
                assert isinstance(description, str)
                assert description
                assert isinstance(required, bool)
                assert enum is None or isinstance(enum, list)
        return found

    async def call(self, name: str, stream: Any = None, /, **arguments: Any) -> str:
        """Call a tool as the host does for a model."""
        tool = self.registry.classes[name]
        made = tool({}, stream) if self.chats else tool({})
        content = (await made.execute({**arguments, "llm_called": True}))["content"]
        assert isinstance(content, str)
        assert content.strip()
        return content

    def close(self) -> None:
        """Forget the plugin and what it has imported of the host; the rest of it may serve the next test."""
        self._plugin = None
        sys.path.remove(str(self.folder.parents[1]))
        for name in list(sys.modules):
            if name in self._modules or ".hosts.maibot_legacy" in name:
                del sys.modules[name]


def group(number: int) -> Any:
    """Return the chat stream of a group; its `user_info` is whoever spoke first there."""
    return SimpleNamespace(
        platform="qq", group_info=SimpleNamespace(group_id=str(number)), user_info=SimpleNamespace(user_id="1")
    )


def private(number: int) -> Any:
    """Return the chat stream of a private chat."""
    return SimpleNamespace(platform="qq", group_info=None, user_info=SimpleNamespace(user_id=str(number)))
