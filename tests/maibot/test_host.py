"""What owners and users of a MaiBot see of the plugin, with the real host around it."""

from __future__ import annotations

import base64
import json
import re
import signal
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from . import processes
from .conftest import HERE_IN_THE_GROUP, Boot
from .host import LISTED_SECONDS, RealHost
from .instance import folder_listing, server_table
from .processes import wait_for

# Upper bounds, in seconds. They are generous, because other things run on the machine.
EDITED_SECONDS = 25.0
"""An edited config.toml takes effect; 1 to 6 s when the machine is idle, for reloads keep 5 s apart."""
OUTAGE_SECONDS = 4.0
"""A reload takes all tools away for a moment, 0.2 s when the machine is idle; less than the slow server takes."""
ENDED_SECONDS = 15.0
"""The servers of a plugin that is gone have ended; the contract says 10 s."""
UNLOADED_SECONDS = 30.0
"""The servers of an unloaded plugin have ended: it may first wait for calls."""
BLOCKED_SECONDS = 8.0
"""What bad servers may add to the bot's start: the plugin waits 2 s for all of them."""
SETTLED_SECONDS = 8.0
"""Long enough to see one reload too many."""

Plain = Callable[..., str]


@pytest.fixture
def marker() -> str:
    """Return a word that no process but the test's own servers has among its arguments."""
    return f"marker-{uuid.uuid4().hex}"


def wait_for_end(pids: list[int], seconds: float) -> list[str]:
    """Wait until processes have ended; return the command lines of those that have not."""
    wait_for(lambda: not any(map(processes.is_alive, pids)), seconds)
    return [processes.command_line(pid) for pid in pids if processes.is_alive(pid)]


# A copied folder simply works


def test_the_calculator_of_the_config_is_offered_to_the_model(bot: RealHost) -> None:
    """It can be used at once, without a search, and the model sees its arguments."""
    add = bot.tools()["mcp_calculator_add"]
    assert add.visible
    assert add.parameters["type"] == "object"
    assert set(add.parameters["properties"]) == {"a", "b"}
    assert {schema["type"] for schema in add.parameters["properties"].values()} <= {"integer", "number"}
    assert sorted(add.parameters["required"]) == ["a", "b"]
    assert "calculator" in add.description


def test_every_tool_of_every_server_is_offered_under_a_name_a_model_accepts(bot: RealHost) -> None:
    """All of them, and nothing else that looks like one of ours."""
    ours = {name for name in bot.tools() if name.startswith("mcp_")}
    calculator = {f"mcp_calculator_{tool}" for tool in ("add", "subtract", "multiply", "divide", "greet")}
    assert ours >= calculator
    assert ours >= {f"mcp_plain_{tool}" for tool in ("image", "pid", "kwargs", "slow")}
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", name) for name in ours)


def test_five_and_three_is_eight(bot: RealHost) -> None:
    """A call gives the server's result."""
    result = bot.call("mcp_calculator_add", {"a": 5, "b": 3}, platform="qq", user_id="42")
    assert result["success"], result
    assert re.fullmatch(r"8(\.0)?", result["content"].strip())
    assert re.fullmatch(r"8(\.0)?", result["history"].strip())


def test_eight_calls_at_once_get_their_own_answers(bot: RealHost) -> None:
    """Answers are not mixed up."""
    results = bot.call_together("mcp_calculator_add", [{"a": number, "b": 100} for number in range(8)])
    assert [float(result["content"]) for result in results] == [100 + number for number in range(8)]


def test_the_plugin_writes_nothing_into_its_own_folder(bot: RealHost) -> None:
    """It may be mounted read-only, and MaiBot restarts its runners when a file changes there."""
    bot.call("mcp_plain_pid")
    assert folder_listing(bot.plugin) == bot.pristine


# Results and arguments


def test_divided_by_zero_the_model_reads_the_servers_message(bot: RealHost) -> None:
    """A tool's error is a failure with a text that names the server, not raw JSON."""
    result = bot.call("mcp_calculator_divide", {"a": 1, "b": 0})
    assert result["success"] is False
    for text in (result["content"], result["history"]):
        assert "calculator" in text
        assert "zero" in text.lower() or "零" in text
        assert not text.lstrip().startswith(("{", "["))
    assert result["error_message"].strip()


def test_a_picture_of_a_tool_reaches_the_model(bot: RealHost) -> None:
    """It is an item of its own beside the text."""
    result = bot.call("mcp_plain_image")
    assert result["success"], result
    assert "a red square" in result["content"]
    (picture,) = (item for item in result["content_items"] if item["content_type"] == "image")
    assert picture["mime_type"] == "image/png"
    assert base64.b64decode(picture["data"], validate=True).startswith(b"\x89PNG\r\n\x1a\n")


def test_every_call_gets_a_server_of_its_own(bot: RealHost) -> None:
    """No call sees what another has left in the server's memory."""
    pids = {bot.call("mcp_plain_pid")["content"].strip() for _ in range(3)}
    assert len(pids) == 3


def test_arguments_named_like_those_of_the_host_arrive_under_their_own_name(bot: RealHost) -> None:
    """MaiBot fills in `platform`, `user_id` and `stream_id` itself; a server's own are not replaced."""
    offered = bot.tools()["mcp_plain_kwargs"].parameters["properties"]
    given = {name: f"value of {name.rstrip('_')}" for name in offered}
    result = bot.call("mcp_plain_kwargs", given, platform="qq", user_id="42", stream_id="s1", group_id="7")
    assert result["success"], result
    names = ("platform", "user_id", "self", "stream_id")
    assert json.loads(result["content"]) == {name: f"value of {name}" for name in names}


def test_a_server_for_one_group_is_neither_offered_nor_usable_in_another(bot: RealHost) -> None:
    """`chats` decides; the plain server of this group listens to nobody else."""
    elsewhere = HERE_IN_THE_GROUP | {"group_id": "654321"}
    assert "mcp_private_pid" in bot.tools(**HERE_IN_THE_GROUP)
    assert bot.call("mcp_private_pid", **HERE_IN_THE_GROUP)["success"]
    assert "mcp_private_pid" not in bot.tools(**elsewhere)
    assert not bot.call("mcp_private_pid", **elsewhere)["success"]


# Servers that do not work


def test_bad_servers_cost_the_good_one_nothing(
    boot: Boot, calculator: str, plain: Plain, bare_startup_seconds: float
) -> None:
    """A missing program and a silent server delay nothing, and the log names them."""
    missing = server_table("missing", "no-such-program-anywhere")
    host = boot(missing + plain("silent", "--silent", connect_timeout=5) + calculator)
    assert host.startup_seconds < bare_startup_seconds + BLOCKED_SECONDS

    host.wait_for_tools("mcp_calculator_add")
    assert host.call("mcp_calculator_add", {"a": 5, "b": 3})["success"]
    assert wait_for(lambda: re.search(r"missing.*no-such-program-anywhere", host.logs()), LISTED_SECONDS)
    assert wait_for(lambda: re.search(r"\bsilent\b", host.logs()), LISTED_SECONDS)


def test_a_slow_server_joins_later_and_is_there_at_once_after_a_restart(boot: Boot, plain: Plain) -> None:
    """The plugin has itself reloaded when the tools are known, once, and remembers them."""
    host = boot(plain("late", "--initialize-delay", "6"))
    host.wait_for_tools("mcp_late_pid")
    assert not wait_for(lambda: host.generations() > 3, SETTLED_SECONDS), "more than two reloads"
    assert host.call("mcp_late_pid")["success"]

    assert host.stop() == []
    host.start()
    assert "mcp_late_pid" in host.tools()


def test_a_start_with_known_tools_waits_for_no_server(
    boot: Boot, plain: Plain, tmp_path: Path, bare_startup_seconds: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three servers that hang do not delay the bot, and their tools are offered at once."""
    hang = tmp_path / "hang"
    names = ("one", "two", "three")
    host = boot("".join(plain(name, "--silent-if", str(hang)) for name in names))
    tools = [f"mcp_{name}_pid" for name in names]
    host.wait_for_tools(*tools)
    assert host.stop() == []
    hang.touch()
    host.start()
    assert set(tools) <= set(host.tools())
    with capsys.disabled():
        print(
            f"\nwith stored tools and three hanging servers the host starts its plugins in"
            f" {host.startup_seconds:.1f} s, without the plugin in {bare_startup_seconds:.1f} s"
        )
    assert host.startup_seconds < bare_startup_seconds + BLOCKED_SECONDS


# The owner changes something while the bot runs


def test_a_server_added_to_the_config_is_there_without_a_restart(
    boot: Boot, calculator: str, plain: Plain, capsys: pytest.CaptureFixture[str]
) -> None:
    """The new one joins, and one that was taken out leaves."""
    host = boot(calculator)
    host.wait_for_tools("mcp_calculator_add")

    begin = time.monotonic()
    host.write_config(calculator + plain("plain"))
    host.wait_for_tools("mcp_plain_pid", "mcp_calculator_add", seconds=EDITED_SECONDS)
    with capsys.disabled():
        print(f"\nan edited config.toml took effect after {time.monotonic() - begin:.1f} s")
    assert host.call("mcp_plain_pid")["success"]

    host.write_config(plain("plain"))
    host.wait_for_tools("mcp_plain_pid", without=["mcp_calculator_add"], seconds=EDITED_SECONDS)
    assert host.call("mcp_plain_pid")["success"]


def test_every_edit_takes_effect_soon_however_many_there_were(boot: Boot, plain: Plain) -> None:
    """Pauses between reloads grow against servers that change all the time, not against an owner."""
    host = boot(plain("plain"))
    host.wait_for_tools("mcp_plain_pid")
    servers = plain("plain")
    for number in range(4):
        servers += plain(f"extra{number}")
        host.write_config(servers)
        host.wait_for_tools("mcp_plain_pid", f"mcp_extra{number}_pid", seconds=EDITED_SECONDS)


def test_an_edit_interrupts_the_other_servers_for_a_moment_only(boot: Boot, plain: Plain) -> None:
    """A server that was added and starts slowly does not hold up the one that people use."""
    host = boot(plain("plain"))
    host.wait_for_tools("mcp_plain_pid")
    host.write_config(plain("plain") + plain("late", "--initialize-delay", "6"))
    failed_since = longest = 0.0
    why = ""

    def late_is_there() -> bool:
        nonlocal failed_since, longest, why
        result = host.call("mcp_plain_pid")
        now = time.monotonic()
        if result["success"]:
            failed_since = 0.0
        else:
            failed_since = failed_since or now
            why = result["history"]
            longest = max(longest, now - failed_since)
        return result["success"] and "mcp_late_pid" in host.tools()

    assert wait_for(late_is_there, LISTED_SECONDS)
    assert longest < OUTAGE_SECONDS, why


def test_a_call_that_runs_outlives_a_reload(boot: Boot, calculator: str, plain: Plain) -> None:
    """A user who waits for a slow tool gets its answer although the owner edits the config meanwhile."""
    host = boot(plain("plain"))
    host.wait_for_tools("mcp_plain_slow")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(host.call, "mcp_plain_slow", {"seconds": 10})
        host.write_config(calculator + plain("plain"))
        host.wait_for_tools("mcp_calculator_add", seconds=EDITED_SECONDS)
        result = waiting.result()
    assert result["success"], result
    assert "slept 10" in result["content"]


# Nothing is left behind


def test_an_unloaded_plugin_leaves_no_server_process(boot: Boot, plain: Plain, marker: str) -> None:
    """Its tools go too, and loading it again brings them back."""
    host = boot(plain("plain", "--marker", marker))
    host.wait_for_tools("mcp_plain_pid")
    assert host.call("mcp_plain_pid")["success"]
    assert wait_for(lambda: processes.with_argument(marker), LISTED_SECONDS), "no spare was started"

    host.unload()
    assert wait_for(lambda: not processes.with_argument(marker), UNLOADED_SECONDS), host.log_tail()
    assert "mcp_plain_pid" not in host.tools()

    host.reload()
    host.wait_for_tools("mcp_plain_pid")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_a_killed_runner_leaves_no_server_process_and_the_tools_come_back(
    blank_instance: Callable[[], Path], plain: Plain, marker: str, number: signal.Signals
) -> None:
    """Neither signal lets the plugin clean up itself; MaiBot starts a new runner."""
    host = RealHost(blank_instance(), plain("plain", "--stubborn", "--marker", marker))
    host.check_health_every(2.0)
    with host:
        host.wait_for_tools("mcp_plain_pid")
        assert wait_for(lambda: processes.with_argument(marker), LISTED_SECONDS), "no spare was started"
        servers = processes.with_argument(marker)
        first = host.runner_pids()

        host.kill_runner(number)
        assert wait_for_end(servers, ENDED_SECONDS) == []

        assert wait_for(lambda: set(host.runner_pids()) - set(first), LISTED_SECONDS), "no new runner"
        assert wait_for(lambda: host.call("mcp_plain_pid")["success"], LISTED_SECONDS)


def test_a_stopped_bot_leaves_nothing_running_and_nothing_in_the_folder(
    boot: Boot, plain: Plain, calculator: str
) -> None:
    """Neither servers, stubborn ones included, nor helpers of the plugin."""
    host = boot(calculator + plain("plain", "--stubborn"))
    host.wait_for_tools("mcp_plain_pid", "mcp_calculator_add")
    assert host.call("mcp_plain_pid")["success"]
    assert host.stop() == []
    assert folder_listing(host.plugin) == host.pristine


# What it costs


def test_the_start_up_time_with_and_without_the_plugin(
    bot: RealHost, bare_startup_seconds: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """Print both; the machine is too noisy to compare them tightly."""
    with capsys.disabled():
        print(
            f"\nthe host starts its plugins in {bare_startup_seconds:.1f} s without mcp-bridge,"
            f" in {bot.startup_seconds:.1f} s with it and three servers"
            f" (after {bot.import_seconds:.1f} s of imports)"
        )
    assert bot.startup_seconds < bare_startup_seconds + BLOCKED_SECONDS
