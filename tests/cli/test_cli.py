"""The command line, as programs and people use it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import document, run
from tests.support.entries import Write, odd
from tests.support.places import ROOT

pytestmark = pytest.mark.process

DEMO = str(ROOT / "examples" / "demo.toml")


def test_list_shows_the_five_tools_of_the_example() -> None:
    done = run("list", "--config", DEMO, "--json")
    assert done.returncode == 0, done.stderr
    shown = document(done)
    assert shown["servers"] == [{"name": "calculator", "state": "ready", "reason": "", "tools": 5}]
    assert [tool["remote_name"] for tool in shown["tools"]] == [
        "add",
        "subtract",
        "multiply",
        "divide",
        "greet",
    ]
    assert set(shown["tools"][0]) == {"name", "server", "remote_name", "description", "input_schema"}
    assert shown["tools"][0]["input_schema"]["required"] == ["a", "b"]


def test_call_gives_the_sum() -> None:
    done = run("call", "mcp_calculator_add", '{"a":5,"b":3}', "--config", DEMO, "--json")
    shown = document(done)
    assert done.returncode == 0
    assert shown["text"] in ("8", "8.0")
    assert (shown["name"], shown["is_error"], shown["media"]) == ("mcp_calculator_add", False, [])
    assert shown["seconds"] > 0


def test_an_error_of_the_tool_is_status_1() -> None:
    done = run("call", "mcp_calculator_divide", '{"a":5,"b":0}', "--config", DEMO, "--json")
    assert done.returncode == 1
    assert document(done)["is_error"] is True
    assert "zero" in document(done)["text"]


def test_an_unknown_tool_is_status_2_and_names_near_ones() -> None:
    done = run("call", "mcp_calculator_ad", "{}", "--config", DEMO, "--json")
    error = document(done)["error"]
    assert (done.returncode, error["type"], error["server"]) == (2, "ToolNotFound", "calculator")
    assert "mcp_calculator_add" in error["message"]
    done = run("call", "mcp_calculater_add", "{}", "--config", DEMO)
    assert done.returncode == 2
    assert "mcp_calculator_add" in done.stderr


def test_a_missing_program_is_status_3_and_named(write_config: Write) -> None:
    file = write_config('[mcp.servers.gone]\ncommand = "no-such-program-xyz"\n' + odd("hung", "hang_init"))
    done = run("call", "mcp_gone_x", "{}", "--config", str(file), "--json")
    error = document(done)["error"]
    assert (done.returncode, error["server"]) == (3, "gone")
    assert "no-such-program-xyz" in error["message"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("call", "x", "{oops"), "not valid JSON"),
        (("call", "x", "[1]"), "must be a JSON object"),
        (("call",), "NAME"),
        (("fly",), "invalid choice"),
        (("list", "--config", "/no/such/file.toml"), "cannot be read"),
    ],
)
def test_wrong_use_is_status_2_and_one_document(words: tuple[str, ...], said: str) -> None:
    done = run(*words, "--json")
    assert done.returncode == 2
    assert said in document(done)["error"]["message"]
    assert "Traceback" not in done.stderr
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_list_shows_the_good_beside_the_bad(write_config: Write) -> None:
    entries = odd("good", "normal") + odd("hung", "hang_init", more="connect_timeout = 2")
    file = write_config(
        entries + '[mcp.servers.gone]\ncommand = "no-such-program-xyz"\n[mcp.servers.off]\nenabled = false\n'
    )
    done = run("list", "--config", str(file), "--json")
    shown = document(done)
    assert done.returncode == 0
    assert [tool["name"] for tool in shown["tools"]] == ["mcp_good_echo", "mcp_good_pid"]
    found = {server["name"]: (server["state"], server["reason"]) for server in shown["servers"]}
    assert found["good"] == ("ready", "")
    assert found["hung"] == ("failed", "no answer to initialize within 2 s (connect_timeout)")
    assert found["gone"] == ("failed", "program not found: no-such-program-xyz")
    assert found["off"][0] == "disabled"
    table = run("list", "--config", str(file))
    assert "mcp_good_echo" in table.stdout
    assert "program not found" in " ".join(table.stdout.split())


def test_pictures_are_saved_where_the_user_wants_them(write_config: Write, tmp_path: Path) -> None:
    file = write_config(odd("s", "result_image"))
    words = ("call", "mcp_s_image", "--config", str(file), "--json", "--save-media", str(tmp_path / "out"))
    (media,) = document(run(*words))["media"]
    assert (media["type"], media["mime_type"], media["bytes"]) == ("image", "image/png", 70)
    assert Path(media["path"]).read_bytes().startswith(b"\x89PNG")


def test_a_result_with_nan_is_strict_json(write_config: Write) -> None:
    file = write_config(odd("s", "nan_number"))
    done = run("call", "mcp_s_nan", "--config", str(file), "--json")
    assert document(done)["structured"] == {"mean": None, "inf": None} or "null" in done.stdout


def test_the_example_runs_from_any_folder_and_says_what_to_do_next(tmp_path: Path) -> None:
    done = run("demo", cwd=tmp_path, PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr
    for word in ("mcp_calculator_add", "8.0", "cannot divide by zero", "麦麦", "plugins/mcp-bridge"):
        assert word in done.stdout


def test_importing_the_package_imports_neither_sdk_nor_anything_heavy() -> None:
    code = "import sys, mcp_bridge; print([m for m in ('mcp', 'pydantic', 'anyio') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
