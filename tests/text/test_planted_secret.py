"""Secrets planted where owners keep them are in nothing that is printed, logged, stored or shown."""

from __future__ import annotations

import base64
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_bridge import load_config
from mcp_bridge.hosts.maibot.page import OwnerPage
from tests.support.entries import Write, odd
from tests.support.office import office
from tests.support.places import ODD_SERVER, ROOT
from tests.support.serving import serving

pytestmark = pytest.mark.process

PLACES = ("env", "variable", "header", "bearer", "user", "password", "query")
SECRETS = {place: f"sk-planted-{place}-8f7e6d5c4b" for place in PLACES}


@pytest.fixture
def config(write_config: Write, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A configuration with a secret in each place, on servers that tell all they know."""
    monkeypatch.setenv("PLANTED", SECRETS["variable"])
    token = f'env = {{ API_TOKEN = "{SECRETS["env"]}", OTHER_KEY = "${{PLANTED}}" }}\n'
    with serving("leaky_stderr") as url:
        login = f"{SECRETS['user']}:{SECRETS['password']}@"
        address = f"{url.replace('//', '//' + login)}/mcp?api_key={SECRETS['query']}"
        remote = f'url = "{address}"\nheaders = {{ X-Api-Key = "{SECRETS["header"]}" }}\n'
        dead = f'url = "http://{login}127.0.0.1:9/mcp?api_key={SECRETS["query"]}"\nbearer = "{SECRETS["bearer"]}"\n'
        yield write_config(
            odd("err", "leaky_stderr", more=token)
            + odd("list", "leaky_list", more=token)
            + odd("log", "leaky_log", more=token)
            + odd("forms", "leaky_forms", more=token + "pin = true")
            + odd("gone", "leaky_exit", more=token)
            + odd("argv", "leaky_argv", "--token=${PLANTED}")
            + f"[mcp.servers.remote]\n{remote}[mcp.servers.dead]\n{dead}"
        )


def found_in(text: str) -> list[str]:
    """Return the places whose secret is in a text, plain, or as a login is sent."""
    login = base64.b64encode(f"{SECRETS['user']}:{SECRETS['password']}".encode()).decode()
    return [place for place, secret in SECRETS.items() if secret in text] + ["login"] * (login in text)


COMMANDS = (
    ("list",),
    ("list", "--json"),
    ("doctor", "--lang", "en"),
    ("doctor", "--json", "--lang", "zh"),
    ("accept", "forms"),
    ("call", "mcp_err_leak"),
    ("call", "mcp_err_leak", "--json"),
    ("call", "mcp_forms_quoted"),
    ("call", "mcp_forms_refused", "--json"),
    ("call", "mcp_log_tell"),
    ("call", "mcp_remote_leak"),
    ("call", "mcp_dead_x"),
    ("call", "mcp_gone_x", "--json"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_shows_a_secret_at_its_most_talkative(
    command: tuple[str, ...], config: Path, data_dir: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mcp_bridge", *command, "-v", "--config", str(config)],
        cwd=ROOT,
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.stdout or done.stderr
    assert found_in(done.stdout + done.stderr) == []
    for file in filter(Path.is_file, data_dir.rglob("*")):
        assert found_in(file.read_bytes().decode("utf-8", "replace") + file.name) == [], file


async def test_no_log_line_status_or_page_shows_a_secret(
    config: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with office(load_config(config), tmp_path) as at:
        page = OwnerPage(at.actions, config, at.tasks)
        for tool in at.actions.tools():
            if tool.remote_name not in ("leak_ok", "login"):  # an answer is the user's own: it is never masked
                await page.try_tool(tool.name, "{}")
        shown = page.overview({tool.name for tool in at.actions.tools()})
        chat = await at.type("") + await at.type("tools")
        assert len(shown["recent"]) > 10
        assert found_in(json.dumps(shown, ensure_ascii=False) + chat + repr(at.actions.servers())) == []
    assert caplog.records
    assert found_in(caplog.text) == []


def test_the_servers_really_tell_their_secrets(config: Path) -> None:
    environ = {**os.environ, "API_TOKEN": SECRETS["env"]}
    done = subprocess.run(
        [sys.executable, str(ODD_SERVER), "leaky_exit"], env=environ, capture_output=True, text=True, check=False
    )
    assert found_in(done.stderr) == ["env", *(["variable"] if "PLANTED" in done.stderr else [])]
