"""MaiBot 0.10 to 0.12, as a stand-in for its plugin system: a copy of the folder is loaded as the bot loads it."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.support.entries import odd
from tests.support.legacy_host import FOLDER, LegacyHost, ToolInfo, ToolParamType, group, private
from tests.support.places import CALCULATOR, ODD_SERVER, ROOT
from tests.support.processes import alive, children
from tests.support.waiting import GENEROUS, until

Boot = Callable[..., LegacyHost]
pytestmark = [pytest.mark.process, pytest.mark.usefixtures("no_children_left")]


@pytest.fixture(scope="module")
def bot_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder whose copy of the plugin is imported once for all tests here."""
    yield tmp_path_factory.mktemp("bot")
    for name in [name for name in sys.modules if name.partition(".")[0] == "plugins"]:
        del sys.modules[name]


@pytest.fixture
async def boot(bot_root: Path) -> AsyncIterator[Boot]:
    """Return a function that makes a bot around a config.toml; in the end all is unloaded."""
    hosts: list[LegacyHost] = []

    def make(config: str, version: str = "0.12.2") -> LegacyHost:
        host = LegacyHost(bot_root, version)
        hosts.append(host)
        text = config.replace("{odd}", str(ODD_SERVER)).replace("{python}", sys.executable)
        (host.folder / "config.toml").write_bytes(text.replace("{calculator}", str(CALCULATOR)).encode())
        return host

    before = children()
    yield make
    for host in hosts:
        host.close()
    gc.collect()
    await until(lambda: children() <= before)


CALCULATOR_ENTRY = """
# a comment that must stay
[plugin]
enabled = true
config_version = "0.2.0"   # makes the host rewrite a file that it reads

[mcp.servers.calculator]
command = "{python}"
args = ["{calculator}"]
"""


async def test_the_tools_are_listed_and_give_the_right_answer(boot: Boot) -> None:
    host = boot(CALCULATOR_ENTRY)
    await host.load_and_wait("mcp_calculator_add")
    definitions = host.definitions()
    assert sorted(definitions) == [
        f"mcp_calculator_{name}" for name in ("add", "divide", "greet", "multiply", "subtract")
    ]
    assert "两数相加" in definitions["mcp_calculator_add"]["description"]
    assert float(await host.call("mcp_calculator_add", a=5, b=3)) == 8
    assert float(await host.call("mcp_calculator_add", a="5", b="3")) == 8
    assert "cannot divide by zero" in await host.call("mcp_calculator_divide", a=1, b=0)


async def test_nothing_in_the_folder_is_written(boot: Boot) -> None:
    host = boot(CALCULATOR_ENTRY)

    def content() -> dict[Path, bytes]:
        files = [path for path in host.folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        return {path: path.read_bytes() for path in files}

    before = content()
    await host.load_and_wait("mcp_calculator_greet")
    await until(lambda: bool(host.registry.classes))
    await host.call("mcp_calculator_greet", name="x")
    await host.unload()
    assert content() == before


async def test_where_mcp_is_missing_the_owner_is_told_the_command(
    boot: Boot, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    host = boot(odd("s", "normal"))
    assert host.load()
    assert host.definitions() == {}
    assert f'{sys.executable} -m pip install "mcp>=1.25,<3"' in caplog.text


@pytest.mark.parametrize("version", ["0.10.0", "0.12.2"])
async def test_a_tool_without_parameters_is_listed_and_called(boot: Boot, version: str) -> None:
    host = boot(odd("s", "strict_args"), version)
    await host.load_and_wait("mcp_s_noargs")
    assert host.definitions()["mcp_s_noargs"]["parameters"] == []
    assert await host.call("mcp_s_noargs") == "ok:{}"


async def test_parameters_have_the_types_of_the_host_and_keep_their_lists_of_values(boot: Boot) -> None:
    host = boot(odd("s", "strict_args"))
    await host.load_and_wait("mcp_s_strict")
    found = {parameter[0]: parameter for parameter in host.definitions()["mcp_s_strict"]["parameters"]}
    assert found["count"] == ("count", ToolParamType.INTEGER, "(>= 0)", True, None)
    assert found["ratio"] == ("ratio", ToolParamType.FLOAT, "ratio", False, None)
    assert found["flag"] == ("flag", ToolParamType.BOOLEAN, "flag", False, None)
    assert found["color"] == ("color", ToolParamType.STRING, "color", False, ["red", "green"])
    assert found["either"] == ("either", ToolParamType.INTEGER, "either", False, None)
    _, kind, description, _, _ = found["where"]
    assert kind is ToolParamType.STRING
    assert "JSON text of this schema" in description
    assert '"required":["x"]' in description


async def test_where_the_host_sends_wrong_types_to_the_model_numbers_are_asked_for_as_text(boot: Boot) -> None:
    host = boot(odd("s", "strict_args"), "0.11.6")
    await host.load_and_wait("mcp_s_strict")
    found = {parameter[0]: parameter for parameter in host.definitions()["mcp_s_strict"]["parameters"]}
    assert found["ratio"] == ("ratio", ToolParamType.STRING, "ratio (a number)", False, None)
    assert found["flag"] == ("flag", ToolParamType.STRING, "flag (true or false)", False, None)
    answer = await host.call("mcp_s_strict", count="2", ratio="0.5", flag="true")
    assert json.loads(answer.removeprefix("ok:")) == {"count": 2, "ratio": 0.5, "flag": True}


async def test_nested_values_arrive_decoded_and_nothing_of_the_host_with_them(boot: Boot) -> None:
    host = boot(odd("s", "strict_args"))
    await host.load_and_wait("mcp_s_strict")
    answer = await host.call("mcp_s_strict", count=1, tags='["a", "b"]', where='{"x": 3}', zip="007", level="[1]")
    assert json.loads(answer.removeprefix("ok:")) == {
        "count": 1,
        "tags": ["a", "b"],
        "where": {"x": 3},
        "zip": "007",
        "level": "[1]",  # only text is allowed there
    }


async def test_a_taken_name_is_reported_with_its_owner(boot: Boot, caplog: pytest.LogCaptureFixture) -> None:
    host = boot(odd("s", "normal"))
    host.registry.infos["mcp_s_echo"] = ToolInfo("mcp_s_echo", plugin_name="another_bridge")
    await host.load_and_wait("mcp_s_pid")
    assert list(host.definitions()) == ["mcp_s_pid"]
    [line] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "mcp_s_echo" in line
    assert "another_bridge" in line
    assert await host.call("mcp_s_pid")


async def test_what_servers_list_later_is_registered_changed_and_removed(boot: Boot, tmp_path: Path) -> None:
    host = boot(odd("s", "list_changed", f"state={tmp_path / 'state'}"))
    await host.load_and_wait("mcp_s_echo", "mcp_s_edit", "mcp_s_grow", "mcp_s_shrink")
    await host.call("mcp_s_grow")
    await until(lambda: "mcp_s_grown1" in host.registry.classes)
    assert host.registry.infos["mcp_s_grown1"].plugin_name == "mcp-bridge"
    assert await host.call("mcp_s_grown1") == "called:grown1"
    await host.call("mcp_s_shrink")
    await until(lambda: "mcp_s_grown1" not in host.registry.classes)
    await host.call("mcp_s_edit")
    await until(lambda: "edit 1" in host.definitions()["mcp_s_echo"]["description"])
    await host.call("mcp_s_grow")
    await until(lambda: "mcp_s_grown1" in host.registry.classes)
    await host.unload()
    assert host.definitions() == {}


async def test_a_slow_server_holds_the_start_only_so_long_and_its_tools_come_later(
    boot: Boot, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = boot(odd("slow", "slow_init") + odd("s", "normal"))
    adapter = import_module(f"plugins.{FOLDER}.mcp_bridge.hosts.maibot_legacy.plugin")
    monkeypatch.setattr(adapter, "COMPONENT_WAIT_SECONDS", 0.5)
    host.load()
    assert "mcp_slow_echo" not in host.definitions()
    await until(lambda: "mcp_slow_echo" in host.definitions())
    assert await host.call("mcp_slow_echo", text="x") == "x"


async def test_a_disabled_plugin_starts_nothing(boot: Boot) -> None:
    before = children()
    host = boot("[plugin]\nenabled = false\n" + odd("s", "normal"))
    assert not host.load()
    assert children() == before


@pytest.mark.parametrize("text", ["[mcp.servers\n", "mcp = 1\n"])
async def test_an_unreadable_file_costs_the_servers_but_not_the_bot(
    boot: Boot, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    host = boot(text)
    assert host.load()
    assert host.definitions() == {}
    assert "no MCP servers are started: " in caplog.text
    assert "config.toml" in caplog.text


async def test_a_dead_server_is_explained_to_the_model(boot: Boot) -> None:
    host = boot(odd("s", "crash_call"))
    await host.load_and_wait("mcp_s_crash")
    assert "MCP server 's'" in await host.call("mcp_s_crash")


async def test_only_the_chats_that_the_owner_named_may_call(boot: Boot) -> None:
    host = boot(odd("s", "normal", more='chats = ["qq:5", "*:private:*"]'))
    await host.load_and_wait("mcp_s_echo")
    assert await host.call("mcp_s_echo", group(5), text="x") == "x"
    assert await host.call("mcp_s_echo", private(7), text="x") == "x"
    assert "not allowed" in await host.call("mcp_s_echo", group(6), text="x")
    assert "not allowed" in await host.call("mcp_s_echo", None, text="x")


async def test_a_user_is_known_in_private_chats_only(boot: Boot) -> None:
    host = boot(odd("s", "normal", more='users = ["qq:1"]'))
    await host.load_and_wait("mcp_s_echo")
    assert await host.call("mcp_s_echo", private(1), text="x") == "x"
    assert "not allowed" in await host.call("mcp_s_echo", private(2), text="x")
    assert "not allowed" in await host.call("mcp_s_echo", group(5), text="x")


async def test_where_chats_cannot_be_told_apart_they_share_no_session(
    boot: Boot, caplog: pytest.LogCaptureFixture
) -> None:
    host = boot(odd("s", "normal", "tools=count", more='session = "chat"'), "0.10.0")
    await host.load_and_wait("mcp_s_count")
    assert [await host.call("mcp_s_count") for _ in range(2)] == ["1", "1"]
    assert "does not pass the chat to tools" in caplog.text


async def test_unloading_ends_all_servers(boot: Boot) -> None:
    before = children()
    host = boot(odd("s", "normal"))
    await host.load_and_wait("mcp_s_echo")
    assert children() != before
    await host.unload()
    await until(lambda: children() <= before)
    await host.load_and_wait("mcp_s_echo")
    assert await host.call("mcp_s_echo", text="x") == "x"


BOT = """
import asyncio, os, sys
from pathlib import Path
sys.modules.update(dict.fromkeys(["mcp_bridge", "loguru", "rich"] + ["tomli"] * (sys.version_info >= (3, 11))))
from tests.support.legacy_host import LegacyHost
async def main():
    host = LegacyHost(Path(sys.argv[1]), "0.12.2")
    (host.folder / "config.toml").write_text(sys.argv[2])
    await host.load_and_wait("mcp_s_pid")
    print(await host.call("mcp_s_pid"), flush=True)
    if sys.argv[3] == "os._exit":
        os._exit(0)
asyncio.run(main())
"""


@pytest.mark.parametrize("end", ["os._exit", "return"])
async def test_the_plugin_runs_from_its_folder_alone_and_no_server_outlives_the_bot(tmp_path: Path, end: str) -> None:
    log = tmp_path / "log"
    config = odd("s", "normal", f"log={log}").replace("{odd}", str(ODD_SERVER)).replace("{python}", sys.executable)
    command = [sys.executable, "-c", BOT, str(tmp_path / "bot"), config, end]
    # As the bot runs: without what Python's own developers turn on to see more.
    environ = {key: value for key, value in os.environ.items() if key not in ("PYTHONDEVMODE", "PYTHONWARNINGS")}
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, timeout=2 * GENEROUS, cwd=ROOT, env=environ
    )
    assert (done.returncode, done.stderr) == (0, "")
    pids = {json.loads(line)["pid"] for line in log.read_text().splitlines()}
    assert int(done.stdout) in pids
    await until(lambda: not any(alive(pid) for pid in pids))
