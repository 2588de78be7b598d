"""Consent of the owner to single calls, and callers whom the bot does not know."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from mcp_bridge import (
    Bridge,
    Call,
    PermissionDenied,
    Proceed,
    ToolResult,
    load_config,
)
from tests.support.entries import Write, odd

GROUP = {"chat": "qq:group:1", "user": "qq:42"}


class TestUnknownUser:
    async def test_a_server_with_users_refuses_where_the_bot_does_not_know_who_asks(self, write_config: Write) -> None:
        """Reported: a host that names no user in a group let everybody pass."""
        async with Bridge(load_config(write_config(odd("s", "normal", more='users = ["qq:1"]')))) as bridge:
            with pytest.raises(PermissionDenied, match="does not know which user asks here, and `users` limits"):
                await bridge.call("mcp_s_echo", {"text": "a"}, chat="qq:group:1", user="")
            assert (await bridge.call("mcp_s_echo", {"text": "a"}, chat="qq:private:1", user="qq:1")).text == "a"


class TestConsent:
    async def test_a_destructive_call_waits_for_the_owners_yes(self, write_config: Write) -> None:
        asked: list[Call] = []

        async def confirm(call: Call) -> bool:
            asked.append(call)
            return call.arguments == {"text": "good"}

        config = load_config(write_config(odd("s", "normal", more='confirm = ["@destructive"]')))
        async with Bridge(config, confirm=confirm) as bridge:
            assert (await bridge.call("mcp_s_echo", '{"text": "good"}', **GROUP)).text == "good"
            with pytest.raises(PermissionDenied, match="needs the owner's consent for each call; it was refused"):
                await bridge.call("mcp_s_echo", {"text": "bad"}, **GROUP)
            assert (await bridge.call("mcp_s_echo", {"text": "mine"})).text == "mine"  # the owner's own program
        assert [call.arguments for call in asked] == [{"text": "good"}, {"text": "bad"}]

    @pytest.mark.parametrize("edit", ["enabled = false", "call_timeout = 7", 'tools = { deny = ["echo"] }'])
    async def test_consent_ends_with_an_edit_while_the_question_is_open(self, write_config: Write, edit: str) -> None:
        """Reported: a tool changed while the owner was asked, and the new one was called."""
        entry = odd("s", "normal", more='confirm = ["*"]')

        async def confirm(call: Call) -> bool:
            bridge.reconfigure(load_config(write_config(entry + edit)))
            return True

        async with Bridge(load_config(write_config(entry)), confirm=confirm) as bridge:
            with pytest.raises(PermissionDenied, match="was changed or switched off while the question was open"):
                await bridge.call("mcp_s_echo", {"text": "x"}, **GROUP)
            assert bridge.call_stats.server("s").denied == 1

    async def test_what_is_sent_is_what_was_shown(self, write_config: Write) -> None:
        arguments = {"text": "harmless"}

        async def confirm(call: Call) -> bool:
            arguments["text"] = "rm -rf"
            return True

        async def pass_on(call: Call, proceed: Proceed) -> ToolResult:
            return await proceed(replace(call, arguments=arguments))

        config = load_config(write_config(odd("s", "normal", more='confirm = ["*"]')))
        async with Bridge(config, confirm=confirm, middleware=[pass_on]) as bridge:
            assert (await bridge.call("mcp_s_echo", {"text": "x"}, **GROUP)).text == "harmless"

    async def test_an_owner_who_is_asleep_refuses(self, write_config: Write) -> None:
        gone = asyncio.Event()

        async def confirm(call: Call) -> bool:
            try:
                await asyncio.sleep(1000)
            finally:
                gone.set()
            return True

        config = load_config(write_config(odd("s", "normal", more='confirm = ["echo"]\nconfirm_timeout = 0.3')))
        async with Bridge(config, confirm=confirm) as bridge:
            with pytest.raises(PermissionDenied, match=r"there was no answer within 0\.3 s"):
                await bridge.call("mcp_s_echo", {"text": "x"}, **GROUP)
            await gone.wait()  # the question is taken back
            assert (await bridge.call("mcp_s_pid", {}, **GROUP)).text.isdigit()

    async def test_where_nobody_can_be_asked_the_call_is_not_made(self, write_config: Write) -> None:
        async with Bridge(load_config(write_config(odd("s", "normal", more='confirm = ["*"]')))) as bridge:
            with pytest.raises(PermissionDenied, match="it cannot be asked for here"):
                await bridge.call("mcp_s_echo", {"text": "x"}, **GROUP)
