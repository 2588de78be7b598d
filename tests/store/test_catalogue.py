"""The stored catalogue: there at once, corrected later, and nobody else's business."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from mcp_bridge import Bridge, load_config
from mcp_bridge.bridge.thread import BridgeThread
from mcp_bridge.config.server_config import ServerConfig
from mcp_bridge.store.atomic_file import PREFIX
from mcp_bridge.store.catalogue import StoredCatalogues
from mcp_bridge.tools.tool import Listing, RemoteTool
from tests.support.changing_servers import ENTRY, config_in
from tests.support.entries import Write
from tests.support.waiting import GENEROUS, until

pytestmark = pytest.mark.usefixtures("no_children_left")

# The mode is in a value of `env`, which is no part of what a server is known by.


async def test_known_tools_are_there_at_once_while_every_server_hangs(write_config: Write) -> None:
    async with Bridge(config_in(write_config, "normal")) as bridge:
        assert len(bridge.tools()) == 6
    async with Bridge(config_in(write_config, "hang_init"), wait=False) as bridge:
        assert len(bridge.tools()) == 6
        assert {one.state for one in bridge.status()} == {"starting"}


def test_a_thread_knows_them_without_the_sdk(write_config: Write) -> None:
    first = BridgeThread(config_in(write_config, "normal"))
    first.start()
    assert first.wait_ready(GENEROUS)
    first.close_soon()
    assert first.join(GENEROUS)
    second = BridgeThread(config_in(write_config, "hang_init"))
    started = time.monotonic()
    second.start()
    assert second.wait_known(GENEROUS)
    assert time.monotonic() - started < GENEROUS / 3  # in fact milliseconds: see benchmarks
    assert len(second.tools()) == 6
    second.close_soon()
    assert second.join(GENEROUS)


async def test_a_changed_list_is_told_once_it_is_known(write_config: Write) -> None:
    async with Bridge(config_in(write_config, "normal", 1)):
        pass
    changes: list[int] = []
    config = config_in(write_config, "count", 1)
    async with Bridge(config, wait=False, on_change=lambda: changes.append(1)) as bridge:
        assert len(bridge.tools()) == 2
        await until(lambda: len(bridge.tools()) == 3)
    assert changes == [1]


async def test_tools_of_a_server_that_has_failed_are_not_offered(
    write_config: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_bridge.bridge.server.FIRST_RETRY_SECONDS", 0.02)
    async with Bridge(config_in(write_config, "normal", 1)):
        pass
    async with Bridge(config_in(write_config, "exit_at_once", 1), wait=False) as bridge:
        assert len(bridge.tools()) == 2
        await until(lambda: bridge.status()[0].state == "retrying")
        assert len(bridge.tools()) == 2
        await until(lambda: bridge.status()[0].state == "failed")
        assert bridge.tools() == []


async def test_names_do_not_depend_on_who_is_up(write_config: Write) -> None:
    clash = ENTRY.format(name='"foo-bar"') + ENTRY.format(name="foo_bar")
    file = write_config(clash)
    async with Bridge(load_config(file, environ={"MODE": "normal"})) as bridge:
        names = sorted(tool.name for tool in bridge.tools())
    async with Bridge(load_config(file, environ={"MODE": "hang_init"}), wait=False) as bridge:
        assert sorted(tool.name for tool in bridge.tools()) == names


def test_what_is_stored_names_no_secret_and_an_edited_entry_finds_nothing(tmp_path: Path) -> None:
    listing = Listing((RemoteTool("s", "t", "d", {"type": "object"}),))
    config = ServerConfig("s", unexpanded={"command": "one"})
    store = StoredCatalogues(tmp_path)
    store.save(config, listing)
    assert store.load(config) == listing
    assert store.load(ServerConfig("s", unexpanded={"command": "two"})) is None
    assert store.load(ServerConfig("other", unexpanded={"command": "one"})) is None
    assert StoredCatalogues(tmp_path / "elsewhere").load(config) is None
    names = {file.name for file in (tmp_path / "catalogue").iterdir()}
    assert "salt" in names
    assert all(name == "salt" or len(name) == len("0" * 32 + ".json") for name in names)


def test_two_bots_in_one_folder_do_not_disturb_each_other(tmp_path: Path) -> None:
    ours, theirs = StoredCatalogues(tmp_path), StoredCatalogues(tmp_path)
    for number in range(20):
        tool = RemoteTool("s", f"t{number}")
        ours.save(ServerConfig("s", unexpanded={"command": "ours"}), Listing((tool,)))
        theirs.save(ServerConfig("s", unexpanded={"command": "theirs"}), Listing((tool, RemoteTool("s", "u"))))
        found = ours.load(ServerConfig("s", unexpanded={"command": "ours"}))
        assert found is not None
        assert [one.remote_name for one in found.tools] == [f"t{number}"]
    assert not [file for file in (tmp_path / "catalogue").iterdir() if file.name.startswith(PREFIX)]


async def test_a_folder_that_cannot_be_written_costs_a_warning(
    write_config: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    async with Bridge(config_in(write_config, "normal", 1), data_dir=tmp_path / "file") as bridge:
        assert len(bridge.tools()) == 2
        await asyncio.sleep(0.2)
    assert caplog.text.count("tools cannot be stored") == 1
