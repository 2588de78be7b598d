"""`mcp-bridge import`: the servers of other programs in config.toml, which otherwise stays as it was."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge.config.bridge_config import load_config
from tests.support.foreign_files import CHERRY_STUDIO, ENVIRON, FOREIGN_FILES, SECRET, put
from tests.support.importing import OWN, take_in, write_json
from tests.support.places import ROOT

if sys.version_info >= (3, 11):
    import tomllib as toml_as_bots_read_it
else:  # what 3.11 has is not there: the newer TOML is then the only one to check with
    import tomli as toml_as_bots_read_it


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mcp_bridge", "import", *words],
        cwd=cwd,
        env={
            **os.environ,
            "PYTHONUTF8": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("program", FOREIGN_FILES)
def test_what_is_written_means_the_same_servers_as_the_file_itself(program: str, tmp_path: Path) -> None:
    source = put(tmp_path, FOREIGN_FILES[program])
    config = source.parent / "config.toml"
    config.write_text(OWN, encoding="utf-8")
    document = take_in(source, config)
    direct = load_config(source, environ=ENVIRON).servers
    assert document == {"added": [server.name for server in direct], "skipped": [], "config": os.path.realpath(config)}
    loaded = load_config(config, environ=ENVIRON)
    assert loaded.servers[0].name == "own"
    assert loaded.servers[1:] == direct
    assert loaded.warnings == ()
    text = config.read_text(encoding="utf-8")
    assert text.startswith(OWN)
    added = toml_as_bots_read_it.loads(text)["mcp"]["servers"]
    assert {name for name, table in added.items() if table.get("enabled") is False} == FOREIGN_FILES[program].off


texts = st.text(max_size=12) | st.sampled_from(["C:\\new\\x", "it's \\", "${A:-b}", '"""', "\x1b\x7f", "~/x", "汉 字"])
scalars = texts | st.integers() | st.booleans() | st.floats(allow_nan=False)
tables = st.dictionaries(texts, scalars | st.none(), max_size=3)
entries = st.fixed_dictionaries(
    {},
    optional={
        "command": texts,
        "args": st.lists(scalars, max_size=3),
        "env": tables,
        "cwd": texts,
        "url": texts | st.just("https://example.com/mcp?k=v"),
        "baseUrl": st.just("http://localhost/sse"),
        "headers": tables,
        "type": st.sampled_from(["stdio", "sse", "http", "streamableHttp", "pigeon"]),
        "disabled": st.booleans(),
        "isActive": st.booleans() | st.just("no"),
        "name": texts,
        "tools": st.lists(texts, max_size=2),
        "disabledTools": st.lists(texts, max_size=2),
        "description": texts,
        "timeout": st.integers(),
    },
)


@given(st.dictionaries(texts, entries | scalars, max_size=4), st.sampled_from([OWN, "", "[mcp]\r\n", "mcp = {}"]))
def test_whatever_is_written_means_what_the_file_itself_means(servers: dict[str, Any], own: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        source, config = write_json(folder, servers), folder / "config.toml"
        config.write_bytes(own.encode())
        document = take_in(source, config)
        text = config.read_bytes().decode()
        direct = {server.name: server for server in load_config(source).servers}
        loaded = {server.name: server for server in load_config(config).servers}
    assert own.startswith("mcp") or text.startswith(own)
    assert "\r" not in own or text.count("\n") == text.count("\r\n")
    toml_as_bots_read_it.loads(text)
    skipped = {one["name"] for one in document["skipped"]}
    assert [*document["added"]] == [name for name in direct if name not in skipped]
    for server_name, server in direct.items():
        if server.enabled and not server.error:
            assert server_name not in skipped or server_name == "own"
        if server_name not in skipped and not server.error:
            written = loaded[server_name]
            # A key that nobody knows is told when it is read, and is not written.
            assert written == type(server)(**{**vars(server), "warnings": ()})


def test_nothing_but_the_new_tables_changes(tmp_path: Path) -> None:
    source = write_json(
        tmp_path, {"a": {"command": "x"}, "own": {"command": "other"}, "off": {"command": "y", "disabled": True}}
    )
    config = tmp_path / "config.toml"
    config.write_text(OWN, encoding="utf-8")
    document = take_in(source, config)
    assert document["skipped"] == [{"name": "own", "reason": "is in config.toml already"}]
    new = '\n[mcp.servers.a]\ncommand = "x"\n\n[mcp.servers.off]\ncommand = "y"\nenabled = false\n'
    assert config.read_text(encoding="utf-8") == OWN + new
    before = config.read_bytes(), config.stat().st_mtime_ns
    assert take_in(source, config)["added"] == []
    assert (config.read_bytes(), config.stat().st_mtime_ns) == before


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_line_ends_and_encoding_of_a_windows_editor_are_kept(encoding: str, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    old = OWN.replace("\n", "\r\n").rstrip().encode(encoding)  # without a line end at the end
    config.write_bytes(old)
    take_in(write_json(tmp_path, {"a": {"command": "x", "env": {"K": "line\nline"}}}), config)
    raw = config.read_bytes()
    assert raw.startswith(old)
    text = raw.decode(encoding)
    assert text.count("\n") == text.count("\r\n")
    assert {server.name: server for server in load_config(config).servers}["a"].env == {"K": "line\nline"}


@pytest.mark.parametrize(
    "own",
    [
        "mcp = { max_tools = 3 } # c\n[z]\n",
        "[mcp]\nservers = { own = { command = 'x' } } # c\n[z]\n",
        "[mcp]\nservers.own.command = 'x' # c\n",
        "mcp.servers.own.command = 'x' # c\n[z]\n",
        "[mcp.servers]\nown = { command = 'x' } # c\n",
        "[z]\n[mcp.servers.own] # c\ncommand = 'x'\n[y]\n[mcp]\nmax_tools = 3\n",
    ],
)
def test_servers_are_added_however_the_owner_writes_his_tables(own: str, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(own)
    before = toml_as_bots_read_it.loads(own)
    take_in(write_json(tmp_path, {"a b": {"command": "x", "env": {"K": "v"}}, "c": {"command": "y"}}), config)
    text = config.read_text()
    after = toml_as_bots_read_it.loads(text)
    assert after["mcp"]["servers"].pop("a b") == {"command": "x", "env": {"K": "v"}}
    assert after["mcp"]["servers"].pop("c") == {"command": "y"}
    before["mcp"].setdefault("servers", {})
    assert after == before
    assert all(line in text for line in ("# c",))


def test_a_config_that_is_not_there_is_made(tmp_path: Path) -> None:
    source = write_json(tmp_path, {"a": {"command": "x", "env": {"K": SECRET}}})
    source.chmod(0o600)
    config = tmp_path / "config.toml"
    assert take_in(source, config)["added"] == ["a"]
    data = toml_as_bots_read_it.loads(config.read_text())
    assert data == {"plugin": {"enabled": True}, "mcp": {"servers": {"a": {"command": "x", "env": {"K": SECRET}}}}}
    if os.name == "posix":  # what it holds is seen by nobody who could not see it before
        assert stat.S_IMODE(config.stat().st_mode) == 0o600


@pytest.mark.process
def test_what_cannot_work_is_not_written_and_the_reason_told(tmp_path: Path) -> None:
    servers = {
        "table": "npx x",
        "nothing": {"args": ["x"]},
        "pigeon": {"url": "https://a", "type": "pigeon"},
        "off": {"command": 5, "disabled": True},
        "half": {"command": "x", "args": ["\ud800"]},
        " ": {"command": "x"},
        "good": {"command": "x", "args": ["${NOT_SET_HERE}", "${ALSO_NOT:-d}"], "envFile": ".env"},
    }
    config = tmp_path / "config.toml"
    source = tmp_path / "mcp.json"
    source.write_text(json.dumps({"mcpServers": servers}))
    done = command(str(source), "--config", str(config), "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["added"] == ["good"]
    reasons = {one["name"]: one["reason"] for one in document["skipped"]}
    assert reasons == {
        "table": "must be a table, not a string",
        "nothing": "command: needs command or url",
        "pigeon": reasons["pigeon"],
        "off": "command: must be a string, not a number",
        "half": "contains half a character, which no TOML file can hold",
        " ": "a server needs a name",
    }
    assert "transport: must be one of stdio, sse, http" in reasons["pigeon"]
    assert "good: needs the environment variable NOT_SET_HERE" in done.stderr
    assert "ALSO_NOT" not in done.stderr
    assert "good: key 'envFile' of other programs is not taken over" in done.stderr
    assert toml_as_bots_read_it.loads(config.read_text())["mcp"]["servers"]["good"] == {
        "command": "x",
        "args": ["${NOT_SET_HERE}", "${ALSO_NOT:-d}"],
    }


@pytest.mark.process
def test_people_see_a_table_and_no_secret(tmp_path: Path) -> None:
    source = put(tmp_path, CHERRY_STUDIO)
    (tmp_path / "config.toml").touch()
    done = command(str(source), cwd=tmp_path)  # without --config: the config.toml that is here
    assert done.returncode == 0, done.stderr
    for word in ("抓取", "amap", "plain", "added", "disabled", "3 servers written to"):
        assert word in done.stdout
    assert "s3cr3t" not in done.stdout + done.stderr
    assert (tmp_path / "config.toml").read_text(encoding="utf-8").count(SECRET) == 2
    again = command(str(source), cwd=tmp_path)
    assert (again.returncode, again.stdout.count("skipped")) == (0, 3)


@pytest.mark.process
@pytest.mark.parametrize(
    ("source_text", "own", "file", "said"),
    [
        ("{", OWN, "mcp.json:1:2", "Expecting"),
        (None, OWN, "mcp.json", "cannot be read"),
        ("{}", OWN, "mcp.json", "mcpServers"),
        ('{"mcpServers": {"a": {"command": "x"}}}', "[plugin]\na = = 1\n", "config.toml:2:5", "Invalid value"),
        ('{"mcpServers": {"a": {"command": "x"}}}', "mcp = 5\n", "config.toml", "must be tables"),
        ('{"mcpServers": {"a": {"command": "x"}}}', "[mcp]\nservers = 5\n", "config.toml", "must be tables"),
    ],
)
def test_an_unreadable_file_is_status_2_and_nothing_is_touched(
    source_text: str | None, own: str, file: str, said: str, tmp_path: Path
) -> None:
    config, source = tmp_path / "config.toml", tmp_path / "mcp.json"
    config.write_text(own, encoding="utf-8")
    before = config.read_bytes()
    if source_text is not None:
        source.write_text(source_text)
    done = command(str(source), "--config", str(config), "--json", cwd=tmp_path)
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["type"]) == (2, "ConfigError")
    assert file in error["message"]
    assert said in error["message"]
    assert "Traceback" not in done.stderr
    assert config.read_bytes() == before
