"""What MaiBot's owner sees on the page, and what reaches a chat; without MaiBot, but with real servers."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_bridge import Media, load_config
from mcp_bridge.config.bridge_config import parse_config
from mcp_bridge.config.server_config import ServerConfig
from mcp_bridge.hosts.base_tool import MAX_CALL_SECONDS, create_mcp_tool_class
from mcp_bridge.hosts.maibot.page import OwnerPage, estimate_tokens
from mcp_bridge.hosts.maibot.tool import MAX_SENT, MaiBotTool, declare, send_media, shown_names
from mcp_bridge.hosts.owner.switches import Switches
from mcp_bridge.tools.tool import RemoteTool, present
from tests.support.entries import Write, odd
from tests.support.office import named_tool, office
from tests.support.places import ROOT
from tests.support.waiting import until

SECRET = "sk-planted-0123456789"


class TestPage:
    async def test_overview_trial_and_no_secret(
        self, write_config: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PLANTED", SECRET)
        text = (
            odd("s", "normal") + f'[mcp.servers.r]\nurl = "http://127.0.0.1:9/x?k={SECRET}"\nbearer = "${{PLANTED}}"\n'
        )
        file = write_config(text)
        async with office(load_config(file), tmp_path) as at:
            page = OwnerPage(at.actions, file, at.tasks)
            answer = await page.try_tool("mcp_s_echo", '{"text": "hello"}')
            assert answer["message"].endswith("：\nhello")
            await page.try_tool("mcp_s_echo", "[broken")
            shown = page.overview({"mcp_s_echo"})
            assert (shown["ready"], shown["tool_count"], shown["calls"]) == ("1 / 2", "1 / 2", 2)
            echo, pid = at.actions.tools()
            assert (echo.name, pid.name) == ("mcp_s_echo", "mcp_s_pid")
            cost = (estimate_tokens(echo, visible=True), estimate_tokens(pid, visible=False))
            assert [one["tokens"] for one in shown["tools"]] == [*cost]
            assert (shown["tokens"], shown["prompt_tokens"]) == (cost[0], f"{cost[0]} + {cost[1]}")
            assert [one["outcome"] for one in shown["recent"]] == ["tool_error", "ok"]
            assert shown["hours"][-1]["calls"] + shown["hours"][-2]["calls"] == 2
            assert "失败" in shown["notice"]
            assert SECRET not in json.dumps(shown, ensure_ascii=False)

    async def test_what_takes_long_goes_on_and_is_shown_later(
        self, write_config: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("mcp_bridge.hosts.maibot.page.ANSWER_SECONDS", 0.2)
        file = write_config(odd("s", "sleep"))
        async with office(load_config(file), tmp_path) as at:
            page = OwnerPage(at.actions, file, at.tasks)
            answer = await page.try_tool("mcp_s_sleep", '{"seconds": 1}')
            assert "还没有返回" in answer["message"]
            await until(lambda: "mcp_s_sleep（" in page.overview(())["notice"])
            await page.try_tool("mcp_s_sleep", '{"seconds": 30}')
            await at.tasks.cancel()

    async def test_the_form_writes_servers_and_loses_nothing(self, write_config: Write, tmp_path: Path) -> None:
        own = "# mine, 我的\n[mcp]\nmax_tools = 5\n"
        file = write_config(own)
        file.chmod(0o640)
        async with office(load_config(file), tmp_path) as at:
            page = OwnerPage(at.actions, file, at.tasks)
            added = await page.add_server(" files ", r"npx -y 'a b' C:\notes\x", "", "", "KEY=${KEY} MODE=fast junk")
            assert "已把 files 写入 config.toml" in added["message"]
            remote = await page.add_server("远程", "", "https://example.com/mcp", "${TOKEN}", "")
            assert "已把 远程" in remote["message"]
            text = file.read_text(encoding="utf-8")
            assert text.startswith(own)
            assert stat.S_IMODE(file.stat().st_mode) == (0o640 if os.name == "posix" else file.stat().st_mode & 0o777)
            config = load_config(file, environ={"KEY": "k", "TOKEN": "t"})
            files, other = config.servers
            assert (files.command, files.args) == ("npx", ("-y", "a b", r"C:\notes\x"))
            assert files.env == {"KEY": "k", "MODE": "fast"}
            assert (other.name, other.url, other.bearer) == ("远程", "https://example.com/mcp", "t")
            assert "已经有叫 files 的服务器" in (await page.add_server("files", "x", "", "", ""))["message"]
            assert "请填写服务器名" in (await page.add_server("", "x", "", "", ""))["message"]
            assert "填写其中一个" in (await page.add_server("b", "x", "http://x", "", ""))["message"]
            wrong = await page.add_server("b", "", "ftp://x", "", "")
            assert "must begin with http:// or https://" in wrong["message"]
            assert file.read_text(encoding="utf-8") == text

    async def test_a_file_that_cannot_be_written_is_told(self, write_config: Write, tmp_path: Path) -> None:
        file = write_config("[mcp]\n")
        async with office(load_config(file), tmp_path) as at:
            file.write_text("[mcp", encoding="utf-8")
            message = (await OwnerPage(at.actions, file, at.tasks).add_server("b", "x", "", "", ""))["message"]
            assert "config.toml" in message
            assert file.read_text(encoding="utf-8") == "[mcp"

    def test_the_declaration_names_only_apis_that_exist(self) -> None:
        folder = ROOT
        page = json.loads((folder / "webui.json").read_text(encoding="utf-8"))["pages"][0]
        source = (folder / "mcp_bridge" / "hosts" / "maibot" / "plugin.py").read_text(encoding="utf-8")
        for binding in [*page["queries"].values(), *page["actions"].values()]:
            assert f'@API("{binding["api"]}")' in source


class TestShown:
    def test_the_owner_says_which_tools_are_in_every_prompt(self) -> None:
        config = parse_config(
            {
                "mcp": {
                    "servers": {
                        "s": {
                            "command": "x",
                            "visible": ["read_*", "@readOnly"],
                            "override": {"read_secret": {"visibility": "deferred"}, "rare": {"visibility": "visible"}},
                        }
                    }
                }
            }
        ).servers[0]
        tools = [named_tool(name) for name in ("read_a", "read_secret", "write", "rare")]
        tools.append(named_tool("look", readOnlyHint=True))
        assert shown_names(tools, {"s": config}, 0) == {"mcp_s_read_a", "mcp_s_rare", "mcp_s_look"}

    def test_tools_beyond_max_visible_are_left_out_of_the_prompt(self) -> None:
        tools = [named_tool(f"t{number}") for number in range(5)]
        plain = {"s": ServerConfig("s")}
        assert shown_names(tools, plain, 2) == {"mcp_s_t0", "mcp_s_t1"}
        assert shown_names(tools, plain, 0) == set()

    def test_the_host_waits_longer_for_what_must_be_asked_or_may_take_longer(self) -> None:
        def seconds(**keys: Any) -> float:
            (config,) = parse_config({"mcp": {"servers": {"s": {"command": "x", **keys}}}}).servers
            made = create_mcp_tool_class(named_tool(), None, MaiBotTool)  # type: ignore[arg-type]
            limited = config.limited_to(MAX_CALL_SECONDS)
            return float(declare(made, limited, visible=True)["metadata"]["timeout_ms"]) / 1000

        assert seconds() == 30 + 120 + 5
        assert seconds(confirm=["@destructive"], confirm_timeout=40) == 30 + 120 + 40 + 5
        assert seconds(override={"t": {"call_timeout": 300}}) == 30 + 300 + 5

    def test_chinese_costs_a_token_for_each_character(self) -> None:
        assert estimate_tokens(named_tool(), visible=True) < 40
        long = present("mcp_s_t", RemoteTool("s", "t", "查询" * 100, {"type": "object"}))
        assert long is not None
        assert estimate_tokens(long, visible=True) >= 200

    def test_a_deferred_tool_costs_its_name_and_description_in_every_prompt(self) -> None:
        """MaiBot 1.3.15 lists it as `1. name: description`; the schema is sent once the model has found the tool."""
        schema = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(50)}}
        tool = present("mcp_s_t", RemoteTool("s", "t", "x" * 400, schema))
        assert tool is not None
        assert 100 <= estimate_tokens(tool, visible=False) < 120
        assert estimate_tokens(tool, visible=True) > 400


class TestMedia:
    async def test_pictures_and_sounds_go_into_the_chat_and_a_failing_platform_costs_only_them(self) -> None:
        sent: list[tuple[str, ...]] = []

        async def image(data: str, stream: str) -> bool:
            sent.append(("image", data, stream))
            if len(sent) == 2:
                raise ConnectionError("the adapter is away")
            return True

        async def custom(kind: str, data: str, stream: str) -> bool:
            sent.append((kind, data, stream))
            return False

        platform = SimpleNamespace(image=image, custom=custom)
        picture, sound = Media("image", "image/png", b"png", "a.png"), Media("audio", "audio/wav", b"wav", "a.wav")
        file = Media("file", "text/plain", b"x", "a.txt")
        assert await send_media(platform, "stream", [picture, picture, sound, file]) == 1
        assert [one[0] for one in sent] == ["image", "image", "voice"]
        sent.clear()
        assert await send_media(platform, "", [picture]) == 0
        assert await send_media(platform, "stream", [picture] * 20) == MAX_SENT - 1
        assert len(sent) == MAX_SENT


class TestSwitches:
    def test_a_broken_file_switches_nothing_off(self, tmp_path: Path) -> None:
        for text in ("", "5", "[1, 2]", '{"a": 1}', "\0"):
            (tmp_path / "s").write_text(text)
            assert Switches(tmp_path / "s").off in (frozenset(), frozenset({"a"}))

    def test_a_switch_that_is_killed_half_way_leaves_the_old_file_whole(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        switches = Switches(tmp_path / "switches.json")
        switches.turn("s", on=False)

        def full_disk(file: Path, *data: object) -> None:
            if file == tmp_path / "switches.json":
                file.write_bytes(b'["s", ')
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_text", full_disk)
        monkeypatch.setattr(os, "replace", full_disk)
        switches.turn("t", on=False)
        monkeypatch.undo()
        assert Switches(tmp_path / "switches.json").off == {"s"}
        assert "holds until the next start: No space left on device" in caplog.text
        assert sorted(file.name for file in tmp_path.iterdir()) == ["data", "switches.json"]  # data: the lock

    def test_what_another_bot_with_the_same_folder_switches_off_stays_off(self, tmp_path: Path) -> None:
        first, second = Switches(tmp_path / "s.json"), Switches(tmp_path / "s.json")
        first.turn("a", on=False)
        second.turn("b", on=False)
        assert Switches(tmp_path / "s.json").off == {"a", "b"}
        second.turn("b", on=True)
        assert Switches(tmp_path / "s.json").off == {"a"}

    def test_where_nothing_can_be_written_it_holds_until_the_next_start(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "file").write_text("")
        switches = Switches(tmp_path / "file" / "switches.json")
        switches.turn("s", on=False)
        assert switches.off == {"s"}
        assert "holds until the next start" in caplog.text
