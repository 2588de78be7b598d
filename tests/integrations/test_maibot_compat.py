"""The adapter for MaiBot 0.10 to 0.12 on the classes of the package `maibot-plugin-sdk`, which offers them again."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from tests.support.entries import odd
from tests.support.places import ODD_SERVER, ROOT
from tests.support.processes import children
from tests.support.waiting import GENEROUS, until

hook = pytest.importorskip("maibot_sdk.compat._import_hook", reason="needs the package maibot-plugin-sdk")
pytestmark = pytest.mark.usefixtures("no_children_left")


@pytest.fixture
def plugin_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return the class that the host would find in a plugin folder with one server in its config.toml."""
    folder = tmp_path / "plugins" / "mcp-bridge"
    folder.mkdir(parents=True)
    (folder / "mcp_bridge").symlink_to(ROOT / "mcp_bridge")
    (folder / "plugin.py").write_bytes((ROOT / "plugin.py").read_bytes())
    config = odd("s", "strict_args").replace("{odd}", str(ODD_SERVER)).replace("{python}", sys.executable)
    (folder / "config.toml").write_text(config)
    monkeypatch.syspath_prepend(str(tmp_path))
    hook.install_hook()
    spec = spec_from_file_location("plugins.mcp-bridge", folder / "plugin.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    module.__package__ = "plugins.mcp-bridge"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package says that it is deprecated
        spec.loader.exec_module(module)
    found = module.McpBridgePlugin
    monkeypatch.setattr(found, "plugin_dir", str(folder), raising=False)  # these classes are not told it
    yield found
    hook.uninstall_hook()
    for name in [name for name in sys.modules if name.partition(".")[0] == "plugins"]:
        del sys.modules[name]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_tools_are_found_described_and_called(plugin_class: Any) -> None:
    from maibot_sdk.compat import BaseTool, ComponentType, ToolParamType

    before = children()
    plugin = plugin_class()
    await until(lambda: bool(plugin.get_plugin_components()), 2 * GENEROUS)
    tools = {info.name: (info, tool) for info, tool in plugin.get_plugin_components()}
    assert sorted(tools) == ["mcp_s_echo", "mcp_s_noargs", "mcp_s_pid", "mcp_s_strict"]
    for name, (info, tool) in tools.items():
        assert issubclass(tool, BaseTool)
        assert info.component_type is ComponentType.TOOL
        assert tool.get_tool_definition()["name"] == name
    found = {parameter[0]: parameter for parameter in tools["mcp_s_strict"][1].parameters}
    assert found["ratio"][1] is ToolParamType.FLOAT
    assert found["color"][4] == ["red", "green"]
    strict = tools["mcp_s_strict"][1](plugin_config={}, chat_stream=None)
    answer = await strict.execute({"count": 1, "where": '{"x": 3}', "llm_called": True})
    assert answer == {"content": 'ok:{"count": 1, "where": {"x": 3}}'}
    assert await tools["mcp_s_noargs"][1]().execute({"llm_called": True}) == {"content": "ok:{}"}
    plugin = None
    gc.collect()
    await until(lambda: children() <= before)
