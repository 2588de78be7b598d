"""Programs and launchers that do not start, or are not the ones meant."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from mcp_bridge.doctor import examination
from tests.support.entries import Write, odd
from tests.support.examining import LANGUAGES, entry, examine, failing_step, nowhere

pytestmark = pytest.mark.usefixtures("no_children_left")


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="the launcher is a shell script")
@pytest.mark.parametrize(
    ("script", "cause", "fix"),
    [
        (
            "sleep 60",
            ("the first download by npx may still be running", "npx 可能还在做首次下载"),
            ("raise first_start_timeout", "调大 first_start_timeout"),
        ),
        (
            "echo 'npm error code E404' >&2; exit 1",
            ("npx does not find the package", "npx 找不到这个包"),
            ("spelling of the package", "检查 args 里的包名"),
        ),
        (
            "echo 'npm ERR! network ETIMEDOUT' >&2; exit 1",
            ("cannot reach the network", "连不上网络"),
            ("HTTPS_PROXY",) * 2,
        ),
        (
            "echo 'npm error code EBADENGINE' >&2; exit 1",
            ("EBADENGINE", "启动器 npx 失败了"),
            ("in a terminal", "在终端里"),
        ),
    ],
)
async def test_a_launcher_that_fails_is_no_server_that_fails(
    write_config: Write, tmp_path: Path, data_dir: Path, script: str, cause: tuple[str, str], fix: tuple[str, str]
) -> None:
    launcher = tmp_path / "npx"
    launcher.write_text(f"#!/bin/sh\n{script}\n")
    launcher.chmod(0o755)
    file = write_config(entry(command=str(launcher), args=["-y", "x"], connect_timeout=2, first_start_timeout=2))
    for index, language in enumerate(LANGUAGES):
        step = await failing_step(file, language, data_dir)
        assert (step.step, cause[index] in step.detail, fix[index] in step.hint) == ("start", True, True), step


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="has no execute permission")
async def test_a_program_of_another_machine_cannot_be_started(
    write_config: Write, tmp_path: Path, data_dir: Path
) -> None:
    (tmp_path / "server").write_bytes(b"\x7fELF\x02\x01\x01" + b"\0" * 60)
    (tmp_path / "server").chmod(0o755)
    file = write_config(entry(command="./server"))
    assert "chmod +x" in (await failing_step(file, "en", data_dir)).hint
    step = await failing_step(file, "zh", data_dir)
    assert (step.step, "系统拒绝启动它" in step.detail) == ("start", True)


async def test_a_container_is_told_where_its_programs_must_be(
    write_config: Write, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "in_container", lambda: True)
    file = write_config(nowhere("npx"))
    assert "this is a container" in (await failing_step(file, "en", data_dir)).hint
    assert "这里是容器" in (await failing_step(file, "zh", data_dir)).hint


@pytest.mark.skipif(os.name == "nt", reason="uses links and permissions of POSIX")
async def test_of_several_programs_of_one_name_the_one_that_runs_is_told(
    write_config: Write, tmp_path: Path, data_dir: Path
) -> None:
    for folder in ("one", "two", "three"):
        (tmp_path / folder).mkdir()
    (tmp_path / "two" / "server").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tmp_path / "two" / "server").chmod(0o755)
    (tmp_path / "one" / "server").symlink_to(tmp_path / "two" / "server")  # the same program
    shutil.copy(tmp_path / "two" / "server", tmp_path / "three" / "server")
    path = os.pathsep.join(str(tmp_path / folder) for folder in ("one", "two", "three"))
    text = odd("s", "normal", more=f'env = {{ PATH = "{path}:/bin:/usr/bin" }}').replace("{python}", "server")
    (found,) = await examine(write_config(text), "en", data_dir)
    told = found.steps[2].detail
    assert told == f"{tmp_path}/one/server, the first of several; also {tmp_path}/three/server"
