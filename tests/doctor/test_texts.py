"""What the doctor says: in which language, of what, and never a secret."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mcp_bridge import BridgeError, load_config
from mcp_bridge.config.server_config import ServerConfig
from mcp_bridge.doctor.advice import ADVICE
from mcp_bridge.doctor.cause import match_output, start_failure
from mcp_bridge.doctor.diagnose import host_objection
from mcp_bridge.doctor.texts import DoctorTexts
from mcp_bridge.errors import ServerUnavailable
from mcp_bridge.text.language import system_language
from mcp_bridge.transport.channel import SideOutput
from tests.support.entries import Write, odd
from tests.support.examining import LANGUAGES, entry, examine, failing_step

pytestmark = pytest.mark.usefixtures("no_children_left")


BOM = "\ufeff"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOM + "[mcp]\n", ("save it as UTF-8 without BOM", "另存为不带 BOM")),
        pytest.param(
            "[mcp.servers]\noff = {\n  enabled = false,\n}\n",
            ("MaiBot reads config.toml as TOML 1.0 and rejects it", "按 TOML 1.0 读取"),
            marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="has no parser for TOML 1.0"),
        ),
        ("[mcp]\n", ("", "")),
    ],
)
def test_a_file_that_maibot_would_refuse_is_told(write_config: Write, text: str, said: tuple[str, str]) -> None:
    file = write_config(text)
    load_config(file)  # we ourselves read it
    for index, language in enumerate(LANGUAGES):
        found = host_objection(file, DoctorTexts(language))
        assert said[index] in found
        assert bool(found) == bool(said[index])


async def test_a_secret_is_masked_and_hidden_text_is_gone_wherever_it_stands(
    write_config: Write, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_X", "S3cr3t-Variable")
    step = await failing_step(write_config(entry(command="${SECRET_X}")), "en", data_dir)
    assert "program not found: ***" in step.detail
    assert "s3cr3t" not in str(step).lower()
    file = write_config('[mcp.servers.s]\ncommand = "gone-\\u202e\\u001b[31mserver"\n')
    step = await failing_step(file, "en", data_dir)
    assert "install gone-server, or put" in step.hint


async def test_a_python_without_the_sdk_is_told_before_any_server_is_blamed(
    write_config: Write, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp_bridge._sdk", None)
    with pytest.raises(BridgeError, match=r"cannot use the package mcp"):
        await examine(write_config(odd("s", "normal")), "en", data_dir)


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW", "LC_ALL": "en_US.UTF-8"}, "en"),
        ({"LC_ALL": "", "LANG": "zh"}, "zh"),
        ({"LANG": "C.UTF-8"}, "en"),
    ],
)
def test_the_language_is_that_of_the_locale(environ: dict[str, str], language: str) -> None:
    assert system_language(environ) == language


@pytest.mark.parametrize(
    ("line", "advice", "name"),
    [
        ("ModuleNotFoundError: No module named 'mcp.server'", "module", "mcp.server"),
        ("Error: Cannot find module '/srv/index.js'", "script", "/srv/index.js"),
        ("python: can't open file '/srv/gone.py': [Errno 2] No such file or directory", "script", "/srv/gone.py"),
        ("Error: listen EADDRINUSE: address already in use :::3000", "port", ""),
        ("BRAVE_API_KEY environment variable is required", "env", "BRAVE_API_KEY"),
        ("Error: missing GITHUB_PERSONAL_ACCESS_TOKEN", "env", "GITHUB_PERSONAL_ACCESS_TOKEN"),
        ("server: error: the following arguments are required: --db", "usage", ""),
        ("docker: Cannot connect to the Docker daemon at unix:///x. Is it running?", "daemon", ""),
        ("docker: Error response from daemon: pull access denied for x", "package", ""),
        ("npm error 404 Not Found - GET x; npm error code E404", "package", "E404"),
        ("goodbye", None, None),
    ],
)
def test_the_reason_is_found_in_what_a_server_wrote(line: str, advice: str | None, name: str | None) -> None:
    found = match_output(["started", line, "bye"], by_launcher=True)
    assert (found and found.advice, found and found.name) == (advice, name)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 407, 418, 429, 500, 503, None])
def test_every_http_status_has_advice_that_can_be_told(status: int | None) -> None:
    error = ServerUnavailable("it failed", cause="status", status=status)
    for transport in ("http", "sse", "auto"):
        config = ServerConfig("s", transport=transport, url="http://h.invalid/mcp")
        failure = start_failure(error, config, SideOutput())
        for language in LANGUAGES:
            cause, fix = ADVICE[failure.advice].filled(
                DoctorTexts(language), {**failure.values, "message": "it failed"}
            )
            assert "it failed" in cause
            assert fix
