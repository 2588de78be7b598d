"""A data folder that is full, read-only, or was left by a killed program."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from mcp_bridge import Bridge
from mcp_bridge.config.bridge_config import BridgeConfig
from mcp_bridge.config.server_config import ServerConfig
from mcp_bridge.store.atomic_file import LEFT_SECONDS, PREFIX
from mcp_bridge.store.catalogue import StoredCatalogues
from mcp_bridge.store.entry_files import SALT_BYTES
from mcp_bridge.tools.tool import Listing, RemoteTool
from tests.support.changing_servers import config_in
from tests.support.entries import Write

ENTRY = ServerConfig("s", unexpanded={"command": "one"})
posix = pytest.mark.skipif(os.name == "nt", reason="signals, and limits of POSIX")


@contextmanager
def small_disk(folder: Path, size: str = "64k") -> Iterator[None]:
    """Mount a disk of that size; skips where that is not allowed."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"no small disk can be mounted: {error}")
    if done.returncode:
        pytest.skip(f"no small disk can be mounted: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Leave not one byte."""
    with (folder / "filling").open("wb", buffering=0) as stream, suppress(OSError):
        while True:
            stream.write(b"x" * 1024)
    assert shutil.disk_usage(folder).free == 0


def make_read_only(folder: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)


def unfinished(folder: Path) -> list[str]:
    return [file.name for file in folder.rglob(f"{PREFIX}*")]


async def names(config: BridgeConfig, folder: Path) -> list[str]:
    """Return the tools that are offered before anything has answered."""
    async with Bridge(config, data_dir=folder, wait=False) as bridge:
        return [tool.remote_name for tool in bridge.tools()]


async def work(write_config: Write, folder: Path, caplog: pytest.LogCaptureFixture, why: str) -> None:
    """Use a server whose tools have changed since they were stored: it works, and one warning says what is wrong."""
    caplog.clear()
    async with Bridge(config_in(write_config, "big_list", 1), data_dir=folder) as bridge:
        assert len(bridge.tools()) > 100
        assert (await bridge.call("mcp_s0_echo", {"text": "x"})).text == "x"
        await bridge.refresh()
        assert [one.state for one in bridge.status()] == ["ready"]
    warnings = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    (told,) = [text for text in warnings if why in text]
    assert told.startswith("tools cannot be stored")


async def test_the_disk_is_full_and_the_bot_works_on_and_keeps_the_old_catalogue(
    write_config: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "small"
    with small_disk(folder):
        async with Bridge(config_in(write_config, "normal", 1), data_dir=folder):
            pass
        fill(folder)
        await work(write_config, folder, caplog, "No space left")
        assert await names(config_in(write_config, "hang_init", 1), folder) == ["echo", "pid"]
        assert unfinished(folder) == []
        (folder / "filling").unlink()  # with room again, all is as it should be
        async with Bridge(config_in(write_config, "count", 1), data_dir=folder):
            pass
        assert await names(config_in(write_config, "hang_init", 1), folder) == ["echo", "pid", "count"]


async def test_the_disk_was_full_before_the_first_start(
    write_config: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "small"
    with small_disk(folder):
        fill(folder)
        await work(write_config, folder, caplog, "No space left")
        assert [
            one.name for one in folder.rglob("*") if one.is_file() and one.stat().st_size == 0
        ] == []  # no half salt
        (folder / "filling").unlink()
        async with Bridge(config_in(write_config, "normal", 1), data_dir=folder):
            pass
        assert await names(config_in(write_config, "hang_init", 1), folder) == ["echo", "pid"]
        assert len((folder / "catalogue" / "salt").read_bytes()) == SALT_BYTES


async def test_the_data_folder_is_read_only_and_the_bot_works_with_what_is_stored(
    write_config: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "small"
    with small_disk(folder):
        async with Bridge(config_in(write_config, "normal", 1), data_dir=folder):
            pass
        make_read_only(folder)
        assert await names(config_in(write_config, "hang_init", 1), folder) == ["echo", "pid"]
        await work(write_config, folder, caplog, "Read-only")
        assert await names(config_in(write_config, "hang_init", 1), folder) == ["echo", "pid"]


LIMITED = """
import resource, sys
from pathlib import Path
from mcp_bridge.config.server_config import ServerConfig
from mcp_bridge.store.catalogue import StoredCatalogues
from mcp_bridge.tools.tool import Listing, RemoteTool
store, entry = StoredCatalogues(Path(sys.argv[1])), ServerConfig("s", unexpanded={"command": "one"})
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for _ in range(3):
    store.save(entry, Listing((RemoteTool("s", "new", "d" * 5000, {}),)))
print([tool.remote_name for tool in store.load(entry).tools])
"""


@posix
def test_a_file_that_may_not_grow_is_not_half_written_and_told_once(tmp_path: Path) -> None:
    StoredCatalogues(tmp_path).save(ENTRY, Listing((RemoteTool("s", "old"),)))
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "['old']\n"
    assert done.stderr.count("tools cannot be stored") == 1
    assert unfinished(tmp_path) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from mcp_bridge.config.server_config import ServerConfig
from mcp_bridge.store.catalogue import StoredCatalogues
from mcp_bridge.tools.tool import Listing, RemoteTool
os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)
entry = ServerConfig("s", unexpanded={"command": "one"})
StoredCatalogues(Path(sys.argv[1])).save(entry, Listing((RemoteTool("s", "new"),)))
"""


@posix
def test_the_bot_is_killed_while_it_stores_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    old = Listing((RemoteTool("s", "old"),))
    StoredCatalogues(tmp_path).save(ENTRY, old)
    assert subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], timeout=120, check=False).returncode == -9
    (left,) = tmp_path.rglob(f"{PREFIX}*")
    assert StoredCatalogues(tmp_path).load(ENTRY) == old
    StoredCatalogues(tmp_path).save(ENTRY, old)
    assert left.exists()  # another bot may be writing it
    before = left.stat().st_mtime - LEFT_SECONDS - 60
    os.utime(left, (before, before))
    StoredCatalogues(tmp_path).save(ENTRY, old)
    assert not left.exists()


def test_half_a_salt_is_replaced_and_many_bots_that_start_together_agree_on_one(tmp_path: Path) -> None:
    for begin in (None, b"", b"half"):
        folder = tmp_path / str(begin)
        if begin is not None:
            (folder / "catalogue").mkdir(parents=True)
            (folder / "catalogue" / "salt").write_bytes(begin)
            StoredCatalogues(folder).load(ENTRY)
        stores = [StoredCatalogues(folder) for _ in range(16)]
        threads = [threading.Thread(target=store.save, args=(ENTRY, Listing())) for store in stores]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len((folder / "catalogue" / "salt").read_bytes()) == SALT_BYTES
        assert len(list((folder / "catalogue").glob("*.json"))) == 1
        assert unfinished(folder) == []


def test_a_file_system_without_links_is_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*names: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    StoredCatalogues(tmp_path).save(ENTRY, Listing((RemoteTool("s", "old"),)))
    assert StoredCatalogues(tmp_path).load(ENTRY) is not None
    assert len((tmp_path / "catalogue" / "salt").read_bytes()) == SALT_BYTES
