"""What MaiBot's owner types and decides in a chat; without MaiBot, but with real servers."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_bridge import PermissionDenied, load_config
from mcp_bridge.calls import Call, Caller
from mcp_bridge.config.server_config import ServerConfig
from mcp_bridge.hosts.owner.command import MAX_LINES, PATTERN
from mcp_bridge.hosts.owner.consent import MAX_SHOWN_CHARS, Consents
from mcp_bridge.hosts.owner.numbers import Numbers
from mcp_bridge.hosts.owner.switches import Switches
from tests.support.entries import Write, odd
from tests.support.office import named_tool, office
from tests.support.waiting import until

SECRET = "sk-planted-0123456789"


class TestCommand:
    async def test_status_tools_trial_and_switches(self, write_config: Write, tmp_path: Path) -> None:
        text = odd("s", "normal") + '[mcp.servers.gone]\ncommand = "no-such-program-xyz"\n'
        async with office(load_config(write_config(text)), tmp_path) as at:
            status = await at.type("")
            assert status.splitlines() == [
                "MCP 服务器 2 个，工具 2 个",
                "● s：就绪，2 个工具",
                "○ gone：失败，0 个工具",
                "  原因：program not found: no-such-program-xyz",
            ]
            assert "：\nhello" in await at.type('call mcp_s_echo {"text": "hello"}')
            assert "mcp_s_ecko 失败" in await at.type("call mcp_s_ecko {}")
            assert "用法" in await at.type("call")
            assert "调用 1 次，失败 0 次，中位用时" in await at.type("status")
            assert "mcp_s_echo（调用 1 次" in await at.type("tools s")
            assert "没有叫 nobody 的服务器；现有：s, gone" in await at.type("tools nobody")
            assert await at.type("tools gone") == "没有工具"
            assert "/mcp on|off" in await at.type("off")
            assert "已重新读取：2 个工具" in await at.type("reload")
            assert await at.type("off s") == "s 已关闭"
            assert "– s：停用，0 个工具" in await at.type("")
            assert "/mcp on s 打开" in await at.type("")
            assert Switches(tmp_path / "switches.json").off == {"s"}
            assert "s 已打开" in await at.type("on s")
            await until(lambda: len(at.actions.tools()) == 2)
            assert "没有叫 x 的服务器；现有：s, gone" in await at.type("off x")
            assert "/mcp on|off" in await at.type("what?")

    async def test_a_server_that_the_file_switches_off_stays_off(self, write_config: Write, tmp_path: Path) -> None:
        async with office(load_config(write_config(odd("s", "normal", more="enabled = false"))), tmp_path) as at:
            assert "enabled = false" in await at.type("on s")

    async def test_without_servers_or_with_the_plugin_off_the_owner_is_told(
        self, write_config: Write, tmp_path: Path
    ) -> None:
        async with office(load_config(write_config("[mcp]")), tmp_path) as at:
            assert "config.toml" in await at.type("")
            at.bridge = None
            assert await at.type("reload") == "正在重新读取所有服务器……\n插件没有运行"
            assert "插件没有运行" in await at.type("call mcp_s_echo")

    async def test_a_long_list_is_cut_for_the_chat(self, write_config: Write, tmp_path: Path) -> None:
        text = "".join(f'[mcp.servers.s{number}]\ncommand = "no-such-program"\n' for number in range(40))
        async with office(load_config(write_config(text)), tmp_path) as at:
            lines = (await at.type("")).splitlines()
            assert len(lines) == MAX_LINES + 1
            assert lines[-1] == f"……另有 {81 - MAX_LINES} 个"

    @pytest.mark.parametrize(
        ("text", "words"),
        [("/mcp", None), (" /mcp  off s ", "off s "), ("/mcp call t {\n}", "call t {\n}")],
    )
    def test_what_counts_as_the_command(self, text: str, words: str | None) -> None:
        import re

        match = re.search(PATTERN, text)
        assert match is not None
        assert match["words"] == words

    @pytest.mark.parametrize("text", ["/mcpx", "say /mcp", "mcp", "/ mcp"])
    def test_other_messages_are_not_taken_for_the_owners_command(self, text: str) -> None:
        import re

        assert re.search(PATTERN, text) is None


class TestConsent:
    def ask(self, consents: Consents, chat: str = "qq:group:1", path: str = "a.txt") -> asyncio.Task[bool]:
        config = ServerConfig("s", confirm=("*",), confirm_timeout=30)
        return asyncio.create_task(consents.ask(Call(named_tool(), config, {"path": path}, Caller(chat, "qq:5"))))

    async def test_an_answer_counts_only_in_the_chat_where_its_question_was_shown(
        self, write_config: Write, tmp_path: Path
    ) -> None:
        """Reported: a bare yes in one chat, for a question that had expired there, allowed a call in another chat."""
        async with office(load_config(write_config("[mcp]")), tmp_path) as at:
            at.config = replace(at.config, owners=("qq:1",))
            at.chats.note("qq:group:1", "stream")
            asked = self.ask(at.consents)
            await until(lambda: len(at.said) == 1)
            assert await at.type("yes", "another") == "没有等待回答的调用"
            assert "没有等待回答的第 1 号调用" in await at.type("yes 1", "another")
            assert not asked.done()
            assert await at.type("yes") == "已同意第 1 号调用"
            assert await asked is True

    async def test_no_number_is_used_twice_though_the_plugin_was_loaded_again(
        self, write_config: Write, tmp_path: Path
    ) -> None:
        config = load_config(write_config("[mcp]"))
        for number in (1, 2):
            async with office(config, tmp_path) as at:
                at.config = replace(at.config, owners=("qq:1",))
                at.chats.note("qq:group:1", "stream")
                asked = self.ask(at.consents)
                await until(lambda at=at: len(at.said) == 1)  # type: ignore[misc]
                assert f"/mcp yes {number}" in at.said[0]
                asked.cancel()
                await asyncio.wait({asked})

    def test_where_no_number_can_be_stored_they_are_random(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        numbers = Numbers(tmp_path / "file" / "questions.json")
        assert len({numbers.take() for _ in range(50)}) == 50
        (tmp_path / "broken.json").write_text("{")
        assert Numbers(tmp_path / "broken.json").take() > 1000

    async def test_the_owner_is_shown_all_that_is_sent_or_the_call_is_refused(
        self, write_config: Write, tmp_path: Path
    ) -> None:
        """Reported: a dangerous argument stood behind 400 characters of padding, or was made of hidden characters."""
        async with office(load_config(write_config("[mcp]")), tmp_path) as at:
            at.config = replace(at.config, owners=("qq:1",))
            at.chats.note("qq:group:1", "stream")
            asked = self.ask(at.consents, path="x" * 1500 + "\u202e\u200brm -rf\U000e0041")
            await until(lambda: len(at.said) == 1)
            assert "x" * 1500 + "\\u{202E}\\u{200B}rm -rf\\u{E0041}" in at.said[0]
            await at.type("no")
            assert await asked is False
            with pytest.raises(PermissionDenied, match="too long to be shown to the owner"):
                await self.ask(at.consents, path="x" * MAX_SHOWN_CHARS)
            assert len(at.said) == 2

    async def test_questions_are_numbered_and_answered_apart(self, write_config: Write, tmp_path: Path) -> None:
        async with office(load_config(write_config("[mcp]")), tmp_path) as at:
            at.config = replace(at.config, owners=("qq:1",))
            at.chats.note("qq:group:1", "stream")
            first, second = self.ask(at.consents), self.ask(at.consents)
            await until(lambda: len(at.said) == 2)
            assert '工具 t：\n{"path":"a.txt"}' in at.said[0].replace(": ", ":")
            assert "请主人在 30 秒内回复 /mcp yes 1" in at.said[0]
            assert "没有等待回答的第 ? 号调用" in await at.type("yes")
            assert await at.type("no 2") == "已拒绝第 2 号调用"
            assert await second is False
            assert await at.type("yes") == "已同意第 1 号调用"
            assert await first is True
            assert await at.type("yes 1") == "没有等待回答的第 1 号调用"
            assert await at.type("yes") == "没有等待回答的调用"

    async def test_without_an_owner_or_a_chat_nobody_is_asked(self, write_config: Write, tmp_path: Path) -> None:
        async with office(load_config(write_config("[mcp]")), tmp_path) as at:
            with pytest.raises(PermissionDenied, match=r"config\.toml names no owner"):
                await self.ask(at.consents)
            at.config = replace(at.config, owners=("qq:1",))
            with pytest.raises(PermissionDenied, match="could not be sent to this chat"):
                await self.ask(at.consents, "qq:group:unknown")
            assert await at.type("yes") == "没有等待回答的调用"

    async def test_a_question_that_is_taken_back_cannot_be_answered(self, write_config: Write, tmp_path: Path) -> None:
        async with office(load_config(write_config("[mcp]")), tmp_path) as at:
            at.config = replace(at.config, owners=("qq:1",))
            at.chats.note("qq:group:1", "stream")
            asked = self.ask(at.consents)
            await until(lambda: len(at.said) == 1)
            asked.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asked
            assert "没有等待回答的第 1 号调用" in await at.type("yes 1")
