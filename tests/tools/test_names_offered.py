"""Names: what users saw when a server's tools were called something that no model API takes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge import Bridge, ServerUnavailable, Tool, load_config
from tests.support.entries import Write, odd
from tests.support.places import ODD_SERVER, ROOT, SERVERS

pytestmark = pytest.mark.usefixtures("no_children_left")
LEGAL = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
VERY = "get_" + "very_" * 13


async def arrived(bridge: Bridge, name: str) -> dict[str, Any]:
    """Call a tool that returns what arrived, and return that."""
    result = await bridge.call(name, {"text": "x"})
    assert not result.is_error, result.text
    found: dict[str, Any] = json.loads(result.text)
    return found


def by_remote_name(tools: list[Tool], server: str = "s") -> dict[str, str]:
    return {tool.remote_name: tool.name for tool in tools if tool.server == server}


def assert_acceptable(tools: list[Tool]) -> None:
    """Assert what every model API asks of the names in one request."""
    assert all(LEGAL.fullmatch(tool.name) for tool in tools)
    assert len({tool.name for tool in tools}) == len(tools)


async def names_of(file: Path, data_dir: Path) -> dict[tuple[str, str], str]:
    """Return the names that a bot without any memory gives."""
    async with Bridge(load_config(file), data_dir=data_dir) as bridge:
        return {(tool.server, tool.remote_name): tool.name for tool in bridge.tools()}


async def test_a_name_of_65_characters_is_shortened_for_the_api(write_config: Write, tmp_path: Path) -> None:
    """Reported: a name of 65 characters made the API refuse every request."""
    originals = ["n" * 65, VERY + "long_alpha", VERY + "long_beta", "q" * 299 + "1", "q" * 299 + "2"]
    async with Bridge(load_config(write_config(odd("s", "long_names")))) as bridge:
        tools = bridge.tools()
        names = by_remote_name(tools)
        assert_acceptable(tools)
        assert len(tools) == 10
        for original in originals:
            assert (await arrived(bridge, names[original]))["called"] == original
    again = write_config(odd("s", "long_names", "order=reversed"), "again.toml")
    assert {tool: name for (_, tool), name in (await names_of(again, tmp_path / "new")).items()} == names


async def test_dots_slashes_and_chinese_in_a_name_are_replaced_for_the_api(write_config: Write, tmp_path: Path) -> None:
    """Reported: dots slashes and Chinese in a name made every prompt fail with 400."""
    originals = ["admin.tools.list", "user/profile", "Query all rows", "查询天气", "🔥", "9lives", "-dash", "a\"b'c"]
    async with Bridge(load_config(write_config(odd("s", "weird_names")))) as bridge:
        tools = {tool.remote_name: tool for tool in bridge.tools()}
        assert_acceptable(list(tools.values()))
        assert len(tools) == 20
        for original in originals:
            assert (await arrived(bridge, tools[original].name))["called"] == original
            assert original in tools[original].description or tools[original].name == f"mcp_s_{original}"
    again = write_config(odd("s", "weird_names", "order=reversed"), "again.toml")
    assert await names_of(again, tmp_path / "new") == {("s", name): tool.name for name, tool in tools.items()}


async def test_tools_that_look_alike_do_not_replace_each_other(write_config: Write, tmp_path: Path) -> None:
    """Reported: tools that look alike silently replaced each other."""
    originals = ["read.file", "read_file", "read-file", "read/file", "read file", "读文件", "写文件", "..."]
    servers = [odd("foo-bar", "collide"), odd("foo_bar", "collide", "order=reversed")]
    async with Bridge(load_config(write_config("".join(servers)))) as bridge:
        tools = bridge.tools()
        assert_acceptable(tools)
        assert len(tools) == 20
        for server in ("foo-bar", "foo_bar"):
            names = by_remote_name(tools, server)
            assert sorted(names) == sorted(["echo", "pid", *originals])
            for original in originals:
                assert (await arrived(bridge, names[original]))["called"] == original
        known = {(tool.server, tool.remote_name): tool.name for tool in tools}
        pids = {(await bridge.call(known[server, "pid"])).text for server in ("foo-bar", "foo_bar")}
        assert len(pids) == 2
    turned = [odd("foo_bar", "collide"), odd("foo-bar", "collide", "order=reversed")]
    assert await names_of(write_config("".join(turned), "turned.toml"), tmp_path / "new") == known


async def test_a_tool_listed_twice_is_offered_once(write_config: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Reported: a tool listed twice shadowed itself."""
    async with Bridge(load_config(write_config(odd("s", "dup_tools")))) as bridge:
        (twice,) = [tool for tool in bridge.tools() if tool.remote_name == "twice"]
        assert (twice.name, list(twice.input_schema["properties"])) == ("mcp_s_twice", ["first"])
        assert "The first." in twice.description
        warnings = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
        assert [text for text in warnings if "'twice'" in text] == [
            "MCP server 's': tool 'twice' is listed twice; the first is used"
        ]


async def test_a_server_name_with_spaces_and_brackets_is_cleaned_for_the_api(write_config: Write) -> None:
    """Reported: a server name with spaces and brackets made every request fail."""
    servers = ["Internet Search (Tavily)", "我的 服务", "另一个"]
    async with Bridge(
        load_config(write_config("".join(odd(json.dumps(name), "normal") for name in servers)))
    ) as bridge:
        assert [(one.name, one.state, one.tools) for one in bridge.status()] == [(name, "ready", 2) for name in servers]
        tools = bridge.tools()
        assert_acceptable(tools)
        assert len(tools) == 6
        assert by_remote_name(tools, servers[0])["echo"] == "mcp_Internet_Search__Tavily__echo"
        pids = [(await bridge.call(by_remote_name(tools, name)["pid"])).text for name in servers]
        assert len(set(pids)) == 3


# Siblings: other ways in which names meet or break.


async def test_two_chinese_server_names_of_one_length_are_two_servers(write_config: Write) -> None:
    servers = ["天气", "新闻"]
    entries = "".join(odd(json.dumps(name, ensure_ascii=False), "collide") for name in servers)
    async with Bridge(load_config(write_config(entries))) as bridge:
        tools = bridge.tools()
        assert_acceptable(tools)
        assert len(tools) == 20
        for server in servers:
            names = by_remote_name(tools, server)
            assert (await arrived(bridge, names["读文件"]))["called"] == "读文件"
            assert all(f"[MCP:{server}]" in tool.description for tool in tools if tool.server == server)


async def test_a_tool_named_like_a_neighbours_public_name_takes_nothing_from_it(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "collide_more") + odd("b", "normal")))) as bridge:
        tools = bridge.tools()
        assert_acceptable(tools)
        assert len(tools) == 18
        names = by_remote_name(tools)
        for original in names.keys() - {"echo", "pid"}:
            assert (await arrived(bridge, names[original]))["called"] == original
        for server in ("s", "b"):
            result = await bridge.call(by_remote_name(tools, server)["echo"], {"text": server})
            assert result.text == server


async def test_server_and_tool_names_that_join_to_the_same_word_stay_two_tools(write_config: Write) -> None:
    entries = odd("a_b", "named", "names=c") + odd("a", "named", "names=b_c|c")
    async with Bridge(load_config(write_config(entries))) as bridge:
        tools = bridge.tools()
        assert_acceptable(tools)
        assert len(tools) == 7
        assert (await arrived(bridge, by_remote_name(tools, "a_b")["c"]))["called"] == "c"
        assert (await arrived(bridge, by_remote_name(tools, "a")["b_c"]))["called"] == "b_c"


@pytest.mark.process
async def test_a_server_that_is_down_renames_no_tool_of_another(write_config: Write, tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(f"import sys; sys.path.insert(0, {str(SERVERS)!r}); exec(open({str(ODD_SERVER)!r}).read())")
    entries = odd("foo-bar", "collide") + odd("foo_bar", "collide").replace("{odd}", str(script))
    config = load_config(write_config(entries))
    async with Bridge(config) as bridge:
        assert [one.state for one in bridge.status()] == ["ready", "ready"]
        names = by_remote_name(bridge.tools(), "foo-bar")
    script.unlink()
    async with Bridge(config) as bridge:
        assert [one.state for one in bridge.status()] == ["ready", "retrying"]
        assert by_remote_name(bridge.tools(), "foo-bar") == names
        with pytest.raises(ServerUnavailable, match="'foo_bar'"):
            await bridge.call(by_remote_name(bridge.tools(), "foo_bar")["read.file"])


async def test_denying_all_look_alikes_of_a_tool_does_not_rename_it(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "collide")))) as bridge:
        names = by_remote_name(bridge.tools())
    more = 'tools = { deny = ["read.file", "read-file", "read/file", "read file"] }'
    async with Bridge(load_config(write_config(odd("s", "collide", more=more), "denied.toml"))) as bridge:
        left = by_remote_name(bridge.tools())
        assert len(left) == 6
        assert left == {original: names[original] for original in left}


async def test_a_name_with_half_a_character_or_of_2000_costs_no_other_tool(
    write_config: Write, caplog: pytest.LogCaptureFixture
) -> None:
    entries = odd("s", "named", r"names=half\\ud83d|line\\nend|ok|" + "x" * 2000)
    async with Bridge(load_config(write_config(entries))) as bridge:
        tools = bridge.tools()
        assert_acceptable(tools)
        assert len(tools) == 5
        json.dumps([tool.description for tool in tools], ensure_ascii=False).encode()
        assert (await arrived(bridge, by_remote_name(tools)["line\nend"]))["called"] == "line\nend"
        assert (await arrived(bridge, "mcp_s_ok"))["called"] == "ok"
        assert not (await bridge.call(next(tool.name for tool in tools if "half" in tool.name))).is_error
        assert "its name has 2000 characters" in caplog.text


@pytest.mark.process
async def test_a_name_shown_by_one_process_can_be_called_in_the_next(write_config: Write) -> None:
    file = str(write_config(odd("s", "weird_names")))

    def run(*words: str) -> Any:
        command = [sys.executable, "-m", "mcp_bridge", *words, "--config", file, "--json"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120, check=True)
        return json.loads(done.stdout)

    names = {tool["remote_name"]: tool["name"] for tool in run("list")["tools"]}
    for original in ("查询天气", "🔥", "tab\tand\nnewline"):
        assert json.loads(run("call", names[original])["text"])["called"] == original


async def test_a_call_for_a_dead_server_is_told_of_that_server_and_not_of_its_look_alike(write_config: Write) -> None:
    entries = odd('"新闻"', "normal") + odd('"天气"', "exit_at_once")
    async with Bridge(load_config(write_config(entries))) as bridge:
        assert [one.state for one in bridge.status()] == ["ready", "retrying"]
        with pytest.raises(ServerUnavailable, match=r"'天气'.*DATABASE_URL is not set") as caught:
            await bridge.call("mcp____forecast")
        assert caught.value.server == "天气"
