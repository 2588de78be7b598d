"""A chat with a model over its HTTP API, as the command `chat` leads it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.entries import Write, odd
from tests.support.places import ROOT
from tests.support.raw_model import Json, RawModel, Turn, raw_model, saying
from tests.support.server_log import ServerLog

pytestmark = pytest.mark.process


def chat(
    model: RawModel, config: Path, text: str | None = "hello", *more: str, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    words = ["--base-url", model.base_url, "--model", "m", "--api-key-env", "RAW_MODEL_KEY", *more]
    if text is not None:
        words += ["--once", text]
    return subprocess.run(
        [sys.executable, "-m", "mcp_bridge", "chat", "--config", str(config), *words],
        input=typed,
        cwd=ROOT,
        env={**os.environ, "RAW_MODEL_KEY": "sk-raw-model"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def piece(index: int, name: str | None = None, arguments: str | None = None, call_id: str | None = None) -> Json:
    """Return a delta that holds a piece of one tool call, with null for what it does not say."""
    call: Json = {"index": index, "function": {"name": name, "arguments": arguments}}
    if call_id is not None:
        call |= {"id": call_id, "type": "function"}
    return {"content": None, "tool_calls": [call]}


def whole(*calls: tuple[str, str, str | None]) -> Json:
    made = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


@pytest.mark.parametrize("mode", ["empty_tools", "no_tools_capability", "hang_init"])
def test_a_model_is_not_sent_an_empty_list_of_tools(write_config: Write, mode: str) -> None:
    config = write_config(odd("a", mode, more="connect_timeout = 2"))
    with raw_model(saying("hi there")) as model:
        done = chat(model, config)
        (request,) = model.requests
    assert done.returncode == 0, done.stderr
    assert "hi there" in done.stdout
    assert {"tools", "tool_choice"} & set(request) == set()
    assert model.keys == ["Bearer sk-raw-model"]


def test_a_call_that_comes_in_pieces_with_nulls_is_put_together(write_config: Write, tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log")
    config = write_config(odd("a", "normal", f"log={log.path}"))
    deltas: list[Json] = [
        {"role": "assistant", "content": None},
        piece(0, "mcp_a_echo", None, "c0"),
        piece(1, "mcp_a_echo", "", "c1"),
        piece(0, None, '{"text":'),
        piece(2, "mcp_a_missing", "{}", "c2"),
        piece(1, None, '{"text":"y"}'),
        piece(0, None, '"x"}'),
        piece(3, "mcp_a_echo", '{"text":', "c3"),
    ]
    message = whole(
        ("c0", "mcp_a_echo", '{"text":"x"}'), ("c1", "mcp_a_echo", '{"text":"y"}'), ("c2", "mcp_a_missing", "{}"),
        ("c3", "mcp_a_echo", '{"text":'),
    )  # fmt: skip
    with raw_model(Turn(deltas, message), saying("done")) as model:
        done = chat(model, config)
        first, second = model.requests
    assert done.returncode == 0, done.stderr
    assert "done" in done.stdout
    assert {one["function"]["name"] for one in first["tools"]} == {"mcp_a_echo", "mcp_a_pid"}
    assert sorted(call["params"]["arguments"]["text"] for call in log.calls("echo")) == ["x", "y"]
    answers = [one for one in second["messages"] if one["role"] == "tool"]
    assert sorted(one["tool_call_id"] for one in answers) == ["c0", "c1", "c2", "c3"]
    said = {one["tool_call_id"]: one["content"] for one in answers}
    assert (said["c0"], said["c1"]) == ("x", "y")
    assert "mcp_a_missing" in said["c2"]
    assert "not valid JSON" in said["c3"]
    (asked,) = [one for one in second["messages"] if one.get("tool_calls")]
    assert [one["id"] for one in asked["tool_calls"]] == ["c0", "c1", "c2", "c3"]
    assert asked["tool_calls"][0]["function"] == {"name": "mcp_a_echo", "arguments": '{"text":"x"}'}


@pytest.mark.parametrize("arguments", [None, "", "null", "{}"])
def test_a_call_without_arguments_reaches_a_tool_that_takes_none(
    write_config: Write, tmp_path: Path, arguments: str | None
) -> None:
    config = write_config(odd("a", "strict_args"))
    turn = Turn([piece(0, "mcp_a_noargs", arguments, "c0")], whole(("c0", "mcp_a_noargs", arguments)))
    with raw_model(turn, saying("done")) as model:
        done = chat(model, config)
        answers = [one for one in model.requests[1]["messages"] if one["role"] == "tool"]
    assert done.returncode == 0, done.stderr
    assert [(one["tool_call_id"], one["content"]) for one in answers] == [("c0", "ok:{}")]


def test_a_server_that_dies_in_a_call_leaves_the_turn_complete(write_config: Write) -> None:
    config = write_config(odd("a", "exit_mid_call"))
    turn = Turn(
        [piece(0, "mcp_a_die", "{}", "c0"), piece(1, "mcp_a_echo", '{"text":"x"}', "c1")],
        whole(("c0", "mcp_a_die", "{}"), ("c1", "mcp_a_echo", '{"text":"x"}')),
    )
    with raw_model(turn, saying("done")) as model:
        done = chat(model, config)
        answers = {
            one["tool_call_id"]: one["content"] for one in model.requests[1]["messages"] if one["role"] == "tool"
        }
    assert done.returncode == 0, done.stderr
    assert "killed by SIGKILL" in answers["c0"]
    assert answers["c1"] == "x"


def test_a_model_that_says_nothing_ends_the_chat_quietly(write_config: Write) -> None:
    silent = Turn([{"role": "assistant", "content": None}], {"role": "assistant", "content": None})
    with raw_model(silent) as model:
        done = chat(model, write_config(odd("a", "normal")))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_a_gateway_that_knows_only_whole_answers_is_understood(write_config: Write) -> None:
    silent: list[Json] = []
    config = write_config(odd("a", "normal"))
    with raw_model(Turn(silent, {"role": "assistant", "content": "whole"})) as model:
        done = chat(model, config)
        assert [one.get("stream") for one in model.requests] == [True, None]
    assert (done.returncode, done.stdout.strip()) == (0, "whole")


def test_a_program_gets_the_answer_and_its_calls_as_one_document(write_config: Write) -> None:
    turn = Turn([piece(0, "mcp_a_echo", '{"text":"x"}', "c0")], whole(("c0", "mcp_a_echo", '{"text":"x"}')))
    with raw_model(turn, saying("done")) as model:
        done = chat(model, write_config(odd("a", "normal")), "hello", "--json", "--no-stream")
        assert "stream" not in model.requests[0]
    shown = json.loads(done.stdout)
    assert shown["text"] == "done"
    assert [(one["name"], one["is_error"]) for one in shown["calls"]] == [("mcp_a_echo", False)]


@pytest.mark.parametrize(("status", "expected"), [(401, 2), (404, 2), (500, 3)])
def test_a_model_that_refuses_is_told_in_one_line_without_the_key(
    write_config: Write, status: int, expected: int
) -> None:
    with raw_model(Turn([], {}, status=status)) as model:
        done = chat(model, write_config(odd("a", "normal")))
    assert done.returncode == expected
    assert str(status) in done.stderr
    assert "sk-raw-model" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("error:") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--api-key-env", "NOT_SET_ANYWHERE"], "NOT_SET_ANYWHERE"),
        (["--base-url", "http://127.0.0.1:9/v1", "--json"], "--once"),
        (["--base-url", "http://127.0.0.1:9/v1", "--once", "x", "--model", "m"], "cannot be reached"),
    ],
)
def test_a_chat_that_cannot_begin_says_what_to_do(write_config: Write, words: list[str], told: str) -> None:
    environ = {**os.environ, "HTTP_PROXY": "http://127.0.0.1:1"}
    environ.pop("OPENAI_API_KEY", None)
    command = [sys.executable, "-m", "mcp_bridge", "chat", "--config", str(write_config(odd("a", "normal"))), *words]
    done = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.returncode == (3 if "reached" in told else 2)
    assert told in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_a_turn_that_fails_leaves_the_chat_usable(write_config: Write) -> None:
    turns = (saying("first"), Turn([], {}, status=400), saying("third"))
    with raw_model(*turns) as model:
        done = chat(model, write_config(odd("a", "normal")), None, typed="one\ntwo\nthree\n")
        last = [one["content"] for one in model.requests[-1]["messages"]]
    assert done.returncode == 0, done.stderr
    assert "first" in done.stdout
    assert "third" in done.stdout
    assert "400" in done.stderr
    assert last == ["one", "first", "three"]
