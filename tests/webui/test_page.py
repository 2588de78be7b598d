"""The page that the plugin adds to MaiBot's web UI, in a real browser: `make test-webui`.

Screenshots go to the folder `MCP_BRIDGE_SCREENSHOTS`, or else to a temporary one.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.maibot.chat import RealChat
from tests.maibot.conftest import blank_instance as blank_instance
from tests.maibot.conftest import calculator as calculator
from tests.maibot.conftest import plain as plain
from tests.maibot.conftest import why_not
from tests.maibot.scripted_llm import Reply, ScriptedLLM

from .browser import CHROMIUM, signed_in

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
pytestmark = pytest.mark.skipif(bool(why_not()) or not CHROMIUM, reason=why_not() or "needs Chromium")

SECRET = "sk-planted-9f8e7d6c5b4a"


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder for screenshots."""
    folder = Path(os.environ.get("MCP_BRIDGE_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def page(blank_instance: Callable[[], Path], calculator: str) -> Iterator[Any]:
    """Return the plugin's page in a browser: a server that works, one that does not, and one with a secret."""
    instance = blank_instance()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = f"owner-{secrets.token_hex(12)}"
    signed = {"access_token": token, "token_source": "configured", "first_setup_completed": True}
    (instance / "data").mkdir(exist_ok=True)
    (instance / "data" / "webui.json").write_text(json.dumps(signed), encoding="utf-8")
    config = (
        calculator
        + '\n[mcp.servers.broken]\ncommand = "no-such-program-xyz"\n'
        + f'\n[mcp.servers.secret]\nurl = "http://127.0.0.1:9/mcp?key={SECRET}"\nbearer = "{SECRET}"\n'
    )
    address = f"http://127.0.0.1:{port}"
    with ScriptedLLM(lambda request: Reply("ok")) as llm:
        chat = RealChat(instance, config, llm.base_url, webui_port=port)
        with chat, signed_in(address, token) as browser:
            browser.goto(f"{address}/extensions/mcp-bridge/servers")
            browser.get_by_text("calculator", exact=True).first.wait_for()
            yield browser


def test_a_server_that_works_and_one_that_fails_are_shown_with_their_reasons(page: Any, screenshots: Path) -> None:
    """And no secret of the configuration."""
    page.get_by_text("program not found: no-such-program-xyz").first.wait_for()
    page.get_by_text("就绪", exact=True).first.wait_for()
    page.screenshot(path=screenshots / "servers.png", full_page=True)
    assert page.get_by_text("1 / 3").count() == 1
    assert SECRET not in page.content()
    page.get_by_text("no-such-program-xyz").first.click()
    page.get_by_role("dialog").get_by_text("打开 · Switch on").wait_for()
    page.screenshot(path=screenshots / "server.png")
    assert SECRET not in page.content()
    page.keyboard.press("Escape")


def test_a_tool_is_tried_and_its_answer_shown(page: Any, screenshots: Path) -> None:
    """With JSON arguments that the owner types."""
    page.get_by_role("tab", name="工具").click()
    page.get_by_text("mcp_calculator_add").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("JSON 参数").fill('{"a": 5, "b": 3}')
    page.screenshot(path=screenshots / "try.png")
    dialog.get_by_role("button", name="试用").click()
    page.get_by_text(re.compile(r"mcp_calculator_add（\d+ 毫秒）：\s8(\.0)?")).wait_for()
    page.screenshot(path=screenshots / "answer.png", full_page=True)


def test_calls_are_listed_and_drawn(page: Any, screenshots: Path) -> None:
    """The one that was tried, and the hour it was made in."""
    page.get_by_role("tab", name="调用").click()
    page.get_by_role("cell", name="add", exact=True).first.wait_for()
    assert page.locator(".recharts-bar-rectangle").count() >= 1
    page.screenshot(path=screenshots / "calls.png", full_page=True)


def test_a_server_is_added_with_the_form(page: Any, screenshots: Path) -> None:
    """It stands in config.toml, and in the table a little later."""
    page.get_by_role("tab", name="添加服务器").click()
    page.get_by_label("名称 · Name").fill("added")
    page.get_by_label("命令 · Command").fill("no-such-program-abc --flag")
    page.screenshot(path=screenshots / "add.png", full_page=True)
    page.get_by_role("button", name="写入 config.toml").click()
    page.get_by_role("alertdialog").get_by_role("button", name="确认").click()
    page.get_by_role("tab", name="服务器", exact=False).first.click()
    page.get_by_role("cell", name="added", exact=True).wait_for()
    page.screenshot(path=screenshots / "added.png", full_page=True)
