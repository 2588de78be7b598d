"""What owners wrote into their file, and what became of it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from pathlib import Path

import pytest

from mcp_bridge import Bridge, ConfigError, ServerUnavailable, load_config
from mcp_bridge.transport.stdio.launch import find_program
from tests.support.entries import Write, odd
from tests.support.places import ODD_SERVER
from tests.support.server_log import ServerLog
from tests.support.serving import serving
from tests.support.waiting import GENEROUS, until

pytestmark = pytest.mark.usefixtures("no_children_left")


async def reported(bridge: Bridge, server: str, tool: str) -> object:
    """Return what a server of the mode `env_report` says of itself."""
    return json.loads((await bridge.call(f"mcp_{server}_{tool}")).text)


@pytest.mark.process
async def test_path_and_home_are_still_there_when_an_env_table_is_given(
    write_config: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    entries = odd("a", "env_report", more='env = { API_KEY = "k", TZ = "UTC" }')
    entries += odd("empty", "env_report", more="env = {}") + odd("none", "env_report")
    async with Bridge(load_config(write_config(entries))) as bridge:
        seen = {name: await reported(bridge, name, "env") for name in ("a", "empty", "none")}
    assert isinstance(seen["a"], dict)
    assert seen["a"]["PATH"] in (os.environ["PATH"], os.environ["PATH"] + os.pathsep + os.path.dirname(sys.executable))
    assert (seen["a"]["HOME"], seen["a"]["API_KEY"]) == (os.environ["HOME"], "k")
    assert seen["a"]["TZ"] == "UTC"
    assert isinstance(seen["none"], dict)
    assert isinstance(seen["empty"], dict)
    marks = [one.pop("MCP_BRIDGE_SESSION") for one in (seen["none"], seen["empty"])]
    assert len(set(marks)) == 2, "each server has a mark of its own, by which its helpers are found"
    assert seen["empty"] == seen["none"]
    assert seen["none"]["TZ"] == "Asia/Shanghai"


@pytest.mark.process
async def test_numbers_and_booleans_in_an_env_table_reach_the_server_as_text(
    write_config: Write, tmp_path: Path
) -> None:
    log = ServerLog(tmp_path / "log")
    entries = odd("a", "env_report", more="[mcp.servers.a.env]\nPORT = 8080\nDEBUG = true\nRATIO = 0.5")
    entries += odd("bad", "env_report", f"log={log.path}", more="[mcp.servers.bad.env]\nLIST = [1, 2]")
    async with Bridge(load_config(write_config(entries))) as bridge:
        env = await reported(bridge, "a", "env")
        assert isinstance(env, dict)
        assert (env["PORT"], env["DEBUG"], env["RATIO"]) == ("8080", "true", "0.5")
        await asyncio.sleep(2.5)  # longer than the first retry of anything that is retried
        status = {one.name: one for one in bridge.status()}
        assert (status["a"].state, status["bad"].state) == ("ready", "failed")
        assert "env.LIST: must be a string, a number or true/false, not a list" in status["bad"].reason
        with pytest.raises(ServerUnavailable, match=r"'bad'.*env\.LIST"):
            await bridge.call("mcp_bad_env")
    assert log.starts() == 0


@pytest.mark.process
async def test_a_reference_to_a_variable_reaches_the_server_as_its_value(
    write_config: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = '[mcp.servers.a.env]\nT = "${TOK}"\nPRICE = "5$ each"'
    entries = odd("a", "env_report", "t=${TOK:-none}", more=more) + odd("b", "env_report", "t=${TOK:-none}")
    monkeypatch.setenv("TOK", "abc")
    async with Bridge(load_config(write_config(entries))) as bridge:
        env, argv = await reported(bridge, "a", "env"), await reported(bridge, "a", "argv")
        assert isinstance(env, dict)
        assert isinstance(argv, list)
        assert (env["T"], env["PRICE"], argv[-1]) == ("abc", "5$ each", "t=abc")
    monkeypatch.delenv("TOK")
    async with Bridge(load_config(write_config(entries))) as bridge:
        argv = await reported(bridge, "b", "argv")
        assert isinstance(argv, list)
        assert argv[-1] == "t=none"
        failed = next(one for one in bridge.status() if one.name == "a")
        assert failed.state == "failed"
        assert "env.T: environment variable TOK is not set" in failed.reason
        assert "${TOK}" not in failed.reason


async def test_an_unset_token_in_a_header_fails_one_server_and_sends_nothing(write_config: Write) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(1)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        header = '[mcp.servers.h.headers]\nAuthorization = "Bearer ${NOPE_TOKEN}"\n'
        entries = f'[mcp.servers.h]\nurl = "{url}"\n{header}' + odd("good", "normal")
        async with Bridge(load_config(write_config(entries))) as bridge:
            assert (await bridge.call("mcp_good_echo", {"text": "x"})).text == "x"
            failed = next(one for one in bridge.status() if one.name == "h")
            assert failed.state == "failed"
            assert "headers.Authorization: environment variable NOPE_TOKEN is not set" in failed.reason
            with pytest.raises(TimeoutError):
                await asyncio.to_thread(listener.accept)


@pytest.mark.process
async def test_a_token_from_the_environment_is_sent_and_is_in_no_log_line(
    write_config: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0, "mcp_bridge")
    monkeypatch.setenv("NOPE_TOKEN", "tok-7c1f9e")
    log = ServerLog(tmp_path / "log")
    with serving("normal", f"log={log.path}") as url:
        header = '[mcp.servers.h.headers]\nAuthorization = "Bearer ${NOPE_TOKEN}"\n'
        file = write_config(f'[mcp.servers.h]\nurl = "{url}/mcp"\n{header}')
        async with Bridge(load_config(file)) as bridge:
            assert (await bridge.call("mcp_h_echo", {"text": "x"})).text == "x"
    sent = [{name.lower(): value for name, value in one["headers"].items()} for one in log.events("http")]
    assert sent
    assert {one["authorization"] for one in sent} == {"Bearer tok-7c1f9e"}
    assert "tok-7c1f9e" not in caplog.text


async def test_the_servers_are_there_although_an_editor_wrote_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    raw = f"[mcp.servers.a]\r\ncommand = '{sys.executable}'\r\nargs = ['{ODD_SERVER}', 'normal']\r\n".encode()
    file.write_bytes(b"\xef\xbb\xbf" + raw)
    async with Bridge(load_config(file)) as bridge:
        assert (await bridge.call("mcp_a_echo", {"text": "x"})).text == "x"
        assert [one.tools for one in bridge.status()] == [2]
    assert file.read_bytes() == b"\xef\xbb\xbf" + raw
    broken = b"\xef\xbb\xbf[mcp.servers.a]\r\ncommand = python3\r\n"
    file.write_bytes(broken)
    with pytest.raises(ConfigError, match=r"config\.toml:2:\d+: ") as caught:
        load_config(file)
    assert caught.value.line == 2
    assert file.read_bytes() == broken


@pytest.mark.process
async def test_a_windows_path_in_single_quotes_reaches_the_process_unchanged(write_config: Write) -> None:
    path = r"C:\Users\me\new\srv.exe"
    text = odd("a", "env_report").replace('"env_report"', f"\"env_report\", '{path}'")
    async with Bridge(load_config(write_config(text))) as bridge:
        argv = await reported(bridge, "a", "argv")
        assert isinstance(argv, list)
        assert argv[-1] == path
    with pytest.raises(ConfigError, match=r"single quotes.*double each backslash") as caught:
        load_config(write_config(text.replace(f"'{path}'", f'"{path}"')))
    assert (caught.value.line, caught.value.column is not None) == (3, True)


async def test_an_entry_of_the_wrong_shape_is_told_at_once_instead_of_hanging(write_config: Write) -> None:
    entries = (
        '[mcp.servers.a]\ncommand = "{python} {odd} normal"\n[mcp.servers.b]\nargs = ["x"]\n'
        '[mcp.servers.c]\ncommand = "no-such-program-xyz"\n'
        '[mcp.servers.d]\ncommand = "no-such-program-xyz server.py"\n'
    )
    loop = asyncio.get_running_loop()
    started = loop.time()
    async with Bridge(load_config(write_config(entries)), wait=False) as bridge:
        for name, said in (
            ("b", "'b'.*needs command or url"),
            ("c", "'c'.*program not found: no-such-program-xyz"),
            ("d", "'d'.*move the words after the program to args"),
        ):
            with pytest.raises(ServerUnavailable, match=said) as caught:
                await bridge.call(f"mcp_{name}_echo", {"text": "x"})
            assert caught.value.server == name
        assert loop.time() - started < 10  # and not after a connect_timeout
        assert (await bridge.call("mcp_a_echo", {"text": "hello"})).text == "hello"


async def test_the_good_server_is_usable_while_a_slow_one_is_still_starting(
    write_config: Write, tmp_path: Path
) -> None:
    log = ServerLog(tmp_path / "log")
    entries = odd("slow", "hang_init", more="connect_timeout = 60")  # first in the file, and never ready
    entries += odd("bad", "exit_at_once") + "".join(
        odd(f"s{n}", "slow_init", "delay=3", f"log={log.path}") for n in range(3)
    )
    entries += odd("good", "normal")
    async with Bridge(load_config(write_config(entries)), wait=False) as bridge:
        answer = await asyncio.wait_for(bridge.call("mcp_good_echo", {"text": "x"}), GENEROUS)
        assert answer.text == "x"
        status = {one.name: one for one in bridge.status()}
        assert status["slow"].state == "starting"
        await until(lambda: all(one.state != "starting" for one in bridge.status() if one.name != "slow"))
        status = {one.name: one for one in bridge.status()}
        assert "exit status 3: FATAL: DATABASE_URL is not set" in status["bad"].reason
        assert [status[f"s{n}"].state for n in range(3)] == ["ready"] * 3
    asked = [event["time"] for event in log.events("recv") if event["message"].get("method") == "initialize"]
    assert max(asked[:3]) - min(asked[:3]) < 3  # the last was asked before the first had answered


@pytest.mark.process
async def test_every_word_of_args_arrives_as_one_word(write_config: Write) -> None:
    words = [
        "-y",
        "a & calc.exe",
        "$(id)",
        "%PATH%",
        'say "hi"',
        "it's",
        "",
        " ",
        "*",
        "; rm -rf x",
        "C:\\x\\",
        "汉 字",
    ]
    file = write_config("")
    listed = json.dumps([str(ODD_SERVER), "env_report", *words], ensure_ascii=False)
    file.write_text(f"[mcp.servers.a]\ncommand = '{sys.executable}'\nargs = {listed}\n", "utf-8")
    async with Bridge(load_config(file)) as bridge:
        argv = await reported(bridge, "a", "argv")
        assert isinstance(argv, list)
        assert argv[2:] == words


def test_npx_is_resolved_with_the_path_of_the_server_and_not_of_the_bot() -> None:
    asked: list[str | None] = []

    def which(command: str, path: str | None = None) -> str | None:
        asked.append(path)
        return "D:\\node\\npx.cmd" if (command, path) == ("npx", "D:\\node") else None

    assert find_program("npx", {"PATH": "D:\\node", "PATHEXT": ".COM;.EXE;.CMD"}, ".", which)[0] == "D:\\node\\npx.cmd"
    assert asked == ["D:\\node"]


@pytest.mark.process
async def test_plain_http_stays_plain_and_a_refused_connection_is_called_that(
    write_config: Write, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    log = ServerLog(tmp_path / "log")
    with serving("normal", f"log={log.path}") as url:
        file = write_config(
            f'[mcp.servers.a]\nurl = "http://127.0.0.1:{port}/sse"\ntransport = "sse"\n'
            f'[mcp.servers.b]\nurl = "{url}/sse"\ntype = "sse"\n'
            f'[mcp.servers.c]\nurl = "{url}/mcp"\ntype = "streamable"\n'
        )
        async with Bridge(load_config(file)) as bridge:
            assert (await bridge.call("mcp_b_echo", {"text": "x"})).text == "x"
            reasons = {one.name: one.reason for one in bridge.status()}
    assert f"connection refused by http://127.0.0.1:{port}/sse" in reasons["a"]
    assert "inside a container this is the container itself" in reasons["a"]
    assert "must be one of stdio, sse, http, streamable_http, streamable-http, streamableHttp" in reasons["c"]
