"""Trust: what users saw of their secrets where they do not belong, and of a server's hidden text."""

from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge import Bridge, BridgeError, Tool, create_mcp_tool_class, load_config
from tests.support.entries import Write, odd
from tests.support.output import command_line, files_in, logged, written
from tests.support.remote import at, remote
from tests.support.waiting import until

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("no_children_left")]
SECRET = "s3cr3t-abc"


def strings(value: Any) -> list[str]:
    """Return every string in a JSON value, keys included."""
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in strings(one)]
    if isinstance(value, list):
        return [text for one in value for text in strings(one)]
    return [value] if isinstance(value, str) else []


def hidden(text: str) -> set[str]:
    """Return the characters of a text that nobody sees: control, format, bidi, zero-width, tags."""
    return {hex(ord(one)) for one in text if unicodedata.category(one) in ("Cc", "Cf", "Cs")} - {"0xa"}


async def test_the_token_of_a_server_is_in_no_log(
    write_config: Write, data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Reported: the token of a server was written to the log."""
    caplog.set_level(0)
    env = f'[mcp.servers.a.env]\nGITHUB_TOKEN = "{SECRET}"'
    file = write_config(odd("a", "leaky_stderr", more=env) + odd("b", "leaky_exit", more=env.replace(".a.", ".b.")))
    async with Bridge(load_config(file)) as bridge:
        (leak,) = [tool for tool in bridge.tools() if tool.remote_name == "leak"]
        said = (await create_mcp_tool_class(leak, bridge)().execute({}))["content"]
        assert "401 from upstream with" in said
        await until(lambda: caplog.text.count("request failed with") == 1)
        assert "FATAL: cannot log in with GITHUB_TOKEN=***" in bridge.status()[1].reason
        seen = said + repr(bridge.status()) + repr(bridge.config)
    seen += logged(caplog) + written(data_dir)
    for words in (("list", "--json"), ("call", "mcp_a_leak"), ("call", "mcp_b_x", "--json")):
        seen += command_line(*words, "-v", "--config", str(file))
    assert "GITHUB_TOKEN=***" in seen
    assert SECRET not in seen


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
async def test_the_key_in_an_address_or_a_header_is_in_no_log(
    write_config: Write, tmp_path: Path, data_dir: Path, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    """Reported: the key in an address or a header was written to the log."""
    caplog.set_level(0)
    with remote(tmp_path, "normal") as server, remote(tmp_path, "normal", "http=500") as broken:
        more: dict[str, Any] = {"headers": {"Authorization": f"Bearer {SECRET}", "X-Key": SECRET}}
        more |= {"transport": "sse"} if path == "/sse" else {}
        urls = [one.origin.replace("//", f"//user:{SECRET}@") + f"{path}?key={SECRET}" for one in (server, broken)]
        file = write_config(at(urls[0], **more) + at(urls[1], "broken", **more))
        async with Bridge(load_config(file)) as bridge:
            assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
            with pytest.raises(BridgeError, match="500 Internal Server Error") as caught:
                await bridge.call("mcp_broken_echo", {"text": "x"})
            seen = caught.value.message + repr(bridge.status()) + repr(bridge.config)
        (first, *_) = server.requests()
        assert first["headers"]["x-key"] == SECRET  # it is used all the same
        assert f"key={SECRET}" in first["path"]
        seen += written(data_dir)
        for words in (("list",), ("call", "mcp_broken_x", "--json")):
            seen += command_line(*words, "-v", "--config", str(file))
    assert SECRET not in seen
    assert SECRET not in logged(caplog)  # of any logger: the host shows them all


async def test_a_description_reaches_the_model_without_invisible_characters(write_config: Write) -> None:
    """Reported: a description hid orders to the model in characters nobody sees."""
    async with Bridge(load_config(write_config(odd("s", "poison")))) as bridge:
        tools = {tool.remote_name: tool for tool in bridge.tools()}
        assert len(tools) == 5
        for tool in tools.values():
            shown = [tool.name, tool.description, *strings(_without_values(tool.input_schema))]
            assert not set().union(*map(hidden, shown))
            assert tool.description.startswith("[MCP:s] ")
        add = tools["add"]
        assert "Add two numbers." in add.description
        assert "\x1b" not in add.description
        assert add.input_schema["properties"]["a"]["description"].startswith("A number.")
        assert "instructions" not in json.dumps([tool.description for tool in tools.values()])
        names = list(add.input_schema["properties"])
        assert names[0] == "a"
        assert len(names) == 2
        assert (await bridge.call(add.name, {"a": "1"})).text == "called:add"


def _without_values(schema: Any) -> Any:
    """Leave out enum and default: they are data, which must arrive as the server wrote them."""
    if isinstance(schema, dict):
        return {key: _without_values(one) for key, one in schema.items() if key not in ("enum", "default")}
    return [_without_values(one) for one in schema] if isinstance(schema, list) else schema


async def test_the_owner_is_told_of_a_tool_that_changed(write_config: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Reported: a tool changed behind the owner's back and nobody was told."""
    caplog.set_level("INFO", "mcp_bridge")

    def safe(bridge: Bridge) -> Tool:
        return next(tool for tool in bridge.tools() if tool.remote_name == "safe")

    async with Bridge(load_config(write_config(odd("s", "rug_pull", more='session = "shared"')))) as bridge:
        before = safe(bridge)
        assert (await bridge.call(before.name, {"city": "x"})).text == "sunny"
        await until(lambda: safe(bridge) != before)
        told = [line for line in logged(caplog, least=30).splitlines() if "safe" in line and "changed" in line]
        assert told
        assert "'s'" in told[0]
        assert "description" in told[0]
        assert "ssh_key" in told[0]


async def test_a_pinned_tool_that_changed_is_withheld_until_its_owner_accepts_it(
    write_config: Write, tmp_path: Path
) -> None:
    """Reported: a changed tool was used before its owner had looked at it."""

    def offered(bridge: Bridge) -> dict[str, Tool]:
        return {tool.remote_name: tool for tool in bridge.tools()}

    entry = odd("s", "rug_pull", f"state={tmp_path / 'state'}", more='session = "shared"\npin = true')
    config = load_config(write_config(entry))
    async with Bridge(config) as bridge:
        assert (await bridge.call("mcp_s_safe", {"city": "x"})).text == "sunny"
        await until(lambda: "safe" not in offered(bridge))
        with pytest.raises(BridgeError):
            await bridge.call("mcp_s_safe", {"city": "x"})
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
    async with Bridge(config) as bridge:  # a restart accepts nothing
        assert "safe" not in offered(bridge)
        assert "ssh_key" in str(await bridge.accept("s"))
        assert "ssh_key" in offered(bridge)["safe"].input_schema["properties"]
        assert (await bridge.call("mcp_s_safe", {"city": "x", "ssh_key": "y"})).text == "sunny"


# Siblings: other ways out for a secret, and in for hidden text.


async def test_a_secret_in_another_spelling_is_masked_too(
    write_config: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    token = 's3cr3t/"+ä z'
    with remote(tmp_path, "leaky_forms") as server:
        entries = odd("a", "leaky_forms", more=f"env = {{ API_KEY = {json.dumps(token)} }}")
        entries += at(server.origin + "/mcp", "b", headers={"X-Api-Key": "s3cr3t/+%20z"})
        async with Bridge(load_config(write_config(entries))) as bridge:
            for server_name in "ab":
                for shape in ("quoted", "escaped", "refused"):
                    result = await bridge.call(f"mcp_{server_name}_{shape}")
                    assert result.is_error
                    assert "***" in result.text
                    assert "s3cr3t" not in result.text
            assert "s3cr3t" not in repr(bridge.status())
    assert "s3cr3t" not in logged(caplog, package="mcp_bridge")


async def test_a_secret_on_the_command_line_is_not_in_the_reason_why_it_failed(
    write_config: Write, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    monkeypatch.setenv("MY_TOKEN", SECRET)
    async with Bridge(load_config(write_config(odd("s", "leaky_argv", "--api-key=${MY_TOKEN}")))) as bridge:
        assert "unknown option in: leaky_argv --api-key=***" in bridge.status()[0].reason
    assert SECRET not in logged(caplog)


async def test_a_secret_that_a_server_puts_into_its_tool_list_is_not_stored(
    write_config: Write, data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    entry = odd("s", "leaky_list", more=f'env = {{ API_KEY = "{SECRET}" }}')
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert len(bridge.tools()) == 3
        await until(lambda: any(data_dir.glob("catalogue/*.json")))
    assert SECRET not in written(data_dir)
    assert SECRET not in logged(caplog)


async def test_log_messages_of_a_server_can_neither_leak_nor_forge_lines(
    write_config: Write, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    entry = odd("s", "leaky_log", more=f'env = {{ API_KEY = "{SECRET}" }}')
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert (await bridge.call("mcp_s_tell")).text == "told"
    told = [one.getMessage() for one in caplog.records if "using [" in one.getMessage()]
    assert len(told) == 4
    assert all(text.startswith("[s] using ['***']") and not hidden(text) and "\n" not in text for text in told)
    assert SECRET not in logged(caplog)


async def test_a_secret_that_is_the_answer_is_not_masked(write_config: Write) -> None:
    entry = odd("s", "leaky_stderr", more=f'env = {{ GITHUB_TOKEN = "{SECRET}" }}')
    async with Bridge(load_config(write_config(entry))) as bridge:
        assert SECRET in (await bridge.call("mcp_s_leak_ok")).text


async def test_what_a_server_calls_itself_cannot_hijack_a_terminal(
    write_config: Write, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    file = write_config(odd("s", "impostor") + odd("p", "poison") + odd("e", "ansi_stderr"))
    async with Bridge(load_config(file)) as bridge:
        assert [one.state for one in bridge.status()] == ["ready"] * 3
        assert (await bridge.call("mcp_e_echo", {"text": "x"})).text == "x"
        assert not hidden(repr(bridge.status()))
    assert not hidden(logged(caplog, package="mcp_bridge"))
    for words in (("list", "-v"), ("call", "mcp_e_echo", '{"text": "x"}', "-v")):
        assert not hidden(command_line(*words, "--config", str(file)))


def test_a_file_from_a_server_is_saved_where_the_owner_said_and_nowhere_else(
    write_config: Write, tmp_path: Path
) -> None:
    file = write_config(odd("s", "result_embedded_escape"))
    out = tmp_path / "a" / "b" / "out"
    told = command_line("call", "mcp_s_embedded_escape", "--config", str(file), "--save-media", str(out))
    saved = [one for one in files_in(tmp_path) if one.read_bytes() == b"evil"]
    assert [one.parent for one in saved] == [out], told
    assert not os.access(saved[0], os.X_OK)


async def test_a_tool_that_looks_like_another_is_told_apart(write_config: Write) -> None:
    async with Bridge(load_config(write_config(odd("s", "poison")))) as bridge:
        names = {tool.remote_name: tool.name for tool in bridge.tools()}
        assert names["echo"] == "mcp_s_echo"
        assert names["ech\u043e"].isascii()
        assert names["ech\u043e"] != "mcp_s_echo"
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
        assert (await bridge.call(names["ech\u043e"])).text == "called:ech\u043e"
