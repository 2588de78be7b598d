"""What an owner writes about rates, consent and single tools, and what is said of mistakes in it."""

from __future__ import annotations

import textwrap

import pytest

from mcp_bridge import Bridge, load_config
from mcp_bridge.config.server_config import Rate, RateLimits, ToolSettings
from tests.support.entries import Write, odd

ENTRY = '[mcp.servers.s]\ncommand = "x"\n'


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("20/min", Rate(20, 60)),
        ("5/10s", Rate(5, 10)),
        ("100 / h", Rate(100, 3600)),
        ("300/day", Rate(300, 86400)),
        ("1/2 hour", Rate(1, 7200)),
    ],
)
def test_a_rate_is_read_as_people_write_it(write_config: Write, text: str, rate: Rate) -> None:
    (server,) = load_config(write_config(f'{ENTRY}rate = {{ chat = "{text}" }}')).servers
    assert server.rate == RateLimits(chat=rate)


@pytest.mark.parametrize("value", ['"often"', "20", '"0/min"', '"5/fortnight"', '"-1/min"', "true", '"5/0s"'])
def test_a_rate_that_cannot_be_read_costs_its_server_and_is_explained(write_config: Write, value: str) -> None:
    text = f'{ENTRY}rate = {{ user = {value} }}\n[mcp.servers.t]\ncommand = "y"'
    broken, good = load_config(write_config(text)).servers
    assert "rate.user: must be a rate such as '20/min'" in str(broken.error)
    assert "config.toml:3" in str(broken.error)
    assert good.error is None


def test_a_limit_for_nobody_is_refused(write_config: Write) -> None:
    (server,) = load_config(write_config(f'{ENTRY}rate = {{ group = "1/min" }}')).servers
    assert "rate: must be a table such as" in str(server.error)


def test_single_tools_are_described_timed_and_hidden(write_config: Write) -> None:
    text = """
    confirm = ["@destructive", "send_*"]
    visible = ["read_*"]
    send_media = true
    [mcp.servers.s.override.read_file]
    description = "Reads."
    call_timeout = 5
    [mcp.servers.s.override."odd name"]
    visibility = "hidden"
    """
    (server,) = load_config(write_config(ENTRY + textwrap.dedent(text))).servers
    assert server.error is None, server.error
    assert server.confirm == ("@destructive", "send_*")
    assert (server.visible, server.send_media) == (("read_*",), True)
    assert server.settings("read_file") == ToolSettings("Reads.", 5.0)
    assert server.settings("odd name") == ToolSettings(visibility="hidden")
    assert server.settings("another") == ToolSettings()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('visibility = "seen"', "override.t.visibility: must be one of visible, deferred, hidden"),
        ("call_timeout = 0", "override.t.call_timeout: must be a number of seconds above 0"),
        ("description = 5", "override.t.description: must be a string, not a number"),
        ('description = " "', "override.t.description: is empty"),
        ("timeout = 5", "override.t: must be a table with some of description, call_timeout, visibility"),
    ],
)
def test_a_mistake_about_a_tool_names_its_place(write_config: Write, line: str, reason: str) -> None:
    (server,) = load_config(write_config(f"{ENTRY}[mcp.servers.s.override.t]\n{line}")).servers
    assert reason in str(server.error)


def test_owners_language_and_number_of_visible_tools(write_config: Write) -> None:
    config = load_config(write_config('[mcp]\nowners = ["qq:1"]\nlanguage = "en"\nmax_visible = 5'))
    assert (config.owners, config.language, config.max_visible, config.warnings) == (("qq:1",), "en", 5, ())
    assert load_config(write_config("[mcp]")).owners == ()


def test_an_owner_who_is_no_user_makes_nobody_an_owner_by_mistake(write_config: Write) -> None:
    config = load_config(write_config('[mcp]\nowners = 12345\nlanguage = "fr"'))
    assert config.owners == ()
    assert config.language == "zh"
    assert any("mcp.owners" in warning for warning in config.warnings)
    assert any("mcp.language: must be 'zh' or 'en'" in warning for warning in config.warnings)
    config = load_config(write_config('[mcp]\nowners = ["10001"]'))
    assert any("write <platform>:<id>" in warning for warning in config.warnings)


async def test_a_rule_that_names_no_tool_is_told_before_a_dangerous_one_goes_unguarded(
    write_config: Write, caplog: pytest.LogCaptureFixture
) -> None:
    more = """
    confirm = ["echo", "delete_*", "@destructive"]
    visible = ["read_file", "p*"]
    tools = { deny = ["remove_*", "drop_table"] }
    [mcp.servers.s.override.ecko]
    visibility = "hidden"
    """
    async with Bridge(load_config(write_config(odd("s", "normal", more=more)))) as bridge:
        await bridge.refresh()
    (told,) = [one.getMessage() for one in caplog.records if "none of its tools" in one.getMessage()]
    idle = "confirm 'delete_*', visible 'read_file', tools.deny 'drop_table', override 'ecko'"
    assert told == f"MCP server 's': none of its tools has that name: {idle}; it has echo, pid"
