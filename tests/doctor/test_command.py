"""`mcp-bridge doctor` as it is run: what it prints, for people and for programs, and what it needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.entries import Write, odd
from tests.support.examining import nowhere
from tests.support.places import ROOT

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("no_children_left")]
BOM = "\ufeff"


def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mcp_bridge", "doctor", *words],
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_the_document_is_exactly_as_promised_and_secrets_are_in_nothing(write_config: Write) -> None:
    entries = (
        BOM
        + odd("good", "normal")
        + odd("leaks", "leaky_exit", more='env = { API_TOKEN = "s3cr3t-token", MODE = "${SECRET_X}" }')
        + "[mcp.servers.off]\nenabled = false\n"
    )
    done = run("--config", str(write_config(entries)), "--json", "-v", SECRET_X="s3cr3t-variable")
    document = json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert done.returncode == 3
    assert list(document) == ["servers"]
    assert all(list(one) == ["name", "ok", "steps"] for one in document["servers"])
    assert all(list(step) == ["step", "ok", "detail", "hint"] for one in document["servers"] for step in one["steps"])
    assert [(one["name"], one["ok"]) for one in document["servers"]] == [
        ("good", True),
        ("leaks", False),
        ("off", True),
    ]
    off = document["servers"][2]["steps"]
    assert [(one["step"], one["ok"]) for one in off] == [("config", True)]
    assert "enabled = false" in off[0]["detail"]
    assert all("BOM" in one["steps"][0]["hint"] for one in document["servers"])
    assert "BOM" in done.stderr
    assert "s3cr3t" not in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_people_read_it_in_the_language_of_their_locale(write_config: Write) -> None:
    file = write_config(odd("good", "normal") + nowhere("npx").replace("servers.s", "servers.bad"))
    done = run("--config", str(file), LC_ALL="zh_CN.UTF-8")
    assert done.returncode == 3
    for words in ("good: 正常", "bad: 失败", "安装 Node.js", "2 个服务器中有 1 个失败"):
        assert words in done.stdout
    done = run("--config", str(file), "--lang", "en", LC_ALL="zh_CN.UTF-8")
    for words in ("good: ok", "bad: FAILED", "fix: install Node.js", "1 of 2 servers failed"):
        assert words in done.stdout


def test_servers_that_are_well_in_a_file_that_maibot_refuses_are_not_all_well(write_config: Write) -> None:
    file = str(write_config(BOM + odd("good", "normal")))
    for language, said in (("en", "but MaiBot rejects this file"), ("zh", "但麦麦读不了这个文件")):
        done = run("--config", file, "--lang", language)
        assert said in done.stdout
        assert "all is well" not in done.stdout + done.stderr
        assert done.returncode == 0  # it is a file for other programs, too


@pytest.mark.parametrize(
    ("words", "said"), [(("--lang", "fr"), "invalid choice"), (("--config", "/no/such.toml"), "cannot be read")]
)
def test_wrong_use_is_status_2_and_one_document(words: tuple[str, ...], said: str) -> None:
    done = run(*words, "--json")
    assert done.returncode == 2
    assert said in json.loads(done.stdout)["error"]["message"]
    assert "Traceback" not in done.stderr


def test_nothing_is_needed_that_a_bot_does_not_have(write_config: Write, tmp_path: Path) -> None:
    for package in ("rich", "loguru", *(["tomli"] if sys.version_info >= (3, 11) else [])):
        (tmp_path / "bare" / package).mkdir(parents=True)
        (tmp_path / "bare" / package / "__init__.py").write_text("raise ImportError('not in this bot')\n")
    # find_spec would see our stand-in for tomli: a bot simply has none.
    (tmp_path / "bare" / "sitecustomize.py").write_text(
        "import importlib.util as u, sys\nsys.modules['tomli'] = None\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'tomli' else find(name, *more)\n"
        if sys.version_info >= (3, 11)
        else ""
    )
    file = write_config(odd("good", "normal"))
    done = run("--config", str(file), "--lang", "en", PYTHONPATH=str(tmp_path / "bare"))
    assert (done.returncode, "all is well; servers checked: 1" in done.stdout) == (0, True), done.stderr
