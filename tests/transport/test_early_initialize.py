"""`initialize` goes to a server before the SDK is there: what becomes of the server is the same."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mcp_bridge import Bridge, _sdk_loader, load_config
from tests.support.entries import Write, odd
from tests.support.places import ODD_SERVER
from tests.support.server_log import ServerLog
from tests.support.waiting import until

IMPORT_SECONDS = 0.5
MODES = (
    *("normal", "slow_init", "split_writes", "one_write", "batch", "duplicate_answers", "jsonrpc_old", "answer_cut"),
    *("id_string", "id_float", "id_null", "id_wrong", "id_missing", "id_list", "id_last", "stray_answers"),
    *("stdout_banner", "noise_before", "bom", "content_length", "pretty_printed", "torn_message", "early_messages"),
    *("asks_ping", "asks_roots", "takes_roots", "asks_sampling", "asks_same_id", "strict_handshake", "strict_fields"),
    *("version_old", "version_future", "version_missing", "version_number", "version_strict", "init_refused"),
    *("init_null", "no_server_info", "extra_init_keys", "capabilities_null", "exit_at_once", "exit_after_init"),
    *("cat", "close_stdin", "close_stdout", "stop_reading"),
)


@pytest.fixture
def sdk_comes_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has just started: the SDK is there only after some time."""
    bring = _sdk_loader.bring

    async def slowly() -> ModuleType:
        await asyncio.sleep(IMPORT_SECONDS)
        return await bring()

    monkeypatch.setattr(_sdk_loader, "is_here", lambda: False)
    monkeypatch.setattr(_sdk_loader, "bring", slowly)


async def outcome(file: Path, folder: Path) -> tuple[dict[str, tuple[str, str]], set[str]]:
    """Return what state each server is in and why, and the tools of all."""
    async with Bridge(load_config(file), data_dir=folder) as bridge:
        states = {one.name: (str(one.state), one.reason.partition("; next")[0]) for one in bridge.status()}
        return states, {tool.name for tool in bridge.tools()}


@pytest.mark.process
async def test_every_server_is_as_it_would_be_with_the_sdk_there(
    write_config: Write, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    more = f'warm = 0\nroots = ["{tmp_path.as_uri()}"]\nconnect_timeout = 20'
    file = write_config("".join(odd(mode, mode, more=more) for mode in MODES))
    states, tools = await outcome(file, tmp_path / "usual")
    request.getfixturevalue("sdk_comes_late")
    assert await outcome(file, tmp_path / "late") == (states, tools)
    assert [state for state, _ in states.values()].count("ready") > len(MODES) / 2


async def test_a_server_is_greeted_while_the_sdk_is_still_being_imported(
    write_config: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, bring = ServerLog(tmp_path / "log"), _sdk_loader.bring

    async def when_greeted() -> ModuleType:
        await until(lambda: bool(log.received("initialize")))
        return await bring()

    monkeypatch.setattr(_sdk_loader, "is_here", lambda: False)
    monkeypatch.setattr(_sdk_loader, "bring", when_greeted)
    async with Bridge(load_config(write_config(odd("s", "normal", f"log={log.path}", more="warm = 0")))) as bridge:
        assert len(bridge.tools()) == 2
    greeted_once(log)


def greeted_once(log: ServerLog) -> None:
    """Check that one `initialize` has reached the server, and no id twice."""
    assert len(log.received("initialize")) == log.starts() == 1
    ids = [message["id"] for message in log.received() if "id" in message]
    assert len(ids) == len(set(ids)) > 1


@pytest.mark.usefixtures("sdk_comes_late")
async def test_a_server_that_does_not_answer_is_given_up_in_time(write_config: Write) -> None:
    file = write_config(odd("s", "hang_init", more="connect_timeout = 1"))
    async with Bridge(load_config(file)) as bridge:
        (status,) = bridge.status()
        assert status.state == "retrying"
        assert "no answer to initialize within 1 s" in status.reason


@pytest.mark.process
def test_in_a_new_process_the_first_call_is_answered(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from mcp_bridge import Bridge; from mcp_bridge.config import parse_config\n"
        "assert 'mcp' not in sys.modules\n"
        "async def main():\n"
        "    entry = {'command': sys.executable, 'args': sys.argv[2:], 'session': 'shared'}\n"
        "    async with Bridge(parse_config({'mcp': {'servers': {'s': entry}}}), data_dir=sys.argv[1]) as bridge:\n"
        "        print((await bridge.call('mcp_s_echo', {'text': 'x'})).text)\n"
        "asyncio.run(main())\n"
    )
    log = ServerLog(tmp_path / "log")
    words = [str(tmp_path / "data"), str(ODD_SERVER), "normal", f"log={log.path}"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.stdout == "x\n", done.stderr
    greeted_once(log)
