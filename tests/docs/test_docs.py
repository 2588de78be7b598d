"""What owners copy out of the documentation works, and both languages say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcp_bridge.config.bridge_config import parse_config
from mcp_bridge.config.reading import parse_toml
from mcp_bridge.config.server_entry import KEYS
from tests.support.places import ROOT, TESTS

PAIRS = (("README.md", "README.zh-CN.md"), ("docs/recipes.md", "docs/recipes.zh-CN.md"))
MCP_KEYS = ("import", "max_tools", "max_spares", "owners", "language", "max_visible", "schema_profile")


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    """Return the code blocks of a language in a document."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text_of(name), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", [name for pair in PAIRS for name in pair])
def test_every_toml_block_is_a_configuration_without_a_mistake(name: str) -> None:
    found = blocks(name, "toml")
    assert found
    for block in found:
        if re.fullmatch(r"\[mcp\.servers\.\w+\.override\.\w+\]\n.*", block, re.DOTALL):
            block = f'[mcp.servers.files]\ncommand = "x"\n{block}'  # stands below a server's table
        config = parse_config(parse_toml(block, Path(name)), lookup=lambda name: "value")
        assert config.warnings == (), block
        assert [server.error for server in config.servers if server.error] == [], block


@pytest.mark.parametrize(("english", "chinese"), PAIRS)
def test_both_languages_show_the_same_configurations_and_commands(english: str, chinese: str) -> None:
    for language in ("toml", "sh", "powershell"):
        ours, theirs = (blocks(name, language) for name in (english, chinese))
        ascii_only = [[re.sub(r'"[^"]*"', '""', block) for block in one] for one in (ours, theirs)]
        assert ascii_only[0] == ascii_only[1]
    assert len(re.findall(r"^#+ ", text_of(english), re.MULTILINE)) == len(
        re.findall(r"^#+ ", text_of(chinese), re.MULTILINE)
    )
    assert text_of(english).count("\n| ") == text_of(chinese).count("\n| ")


@pytest.mark.parametrize("name", PAIRS[0])
def test_every_key_of_the_configuration_is_in_the_reference(name: str) -> None:
    text = text_of(name)
    for key in (*KEYS, *MCP_KEYS):
        assert f"| `{key}`" in text or f"`{key}`, " in text, key


@pytest.mark.parametrize("name", [name for pair in PAIRS for name in pair])
def test_links_inside_the_project_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text_of(name)):
        assert (ROOT / name).parent.joinpath(target).exists(), target


@pytest.mark.parametrize("name", ["docs/guarantees.md", "docs/security.md", "docs/robustness.md"])
def test_every_test_that_a_page_names_exists(name: str) -> None:
    named = re.findall(r"`((?:[\w/]+/)?test_\w+\.py)(?:::(\w+))?`", text_of(name))
    assert len(named) > 20
    for file, test in named:
        words = (TESTS / file).read_text(encoding="utf-8")
        assert not test or re.search(rf"^ *(?:async )?(?:def|class) {test}\b", words, re.M), f"{file}::{test}"


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_path_that_a_page_names_exists(name: str) -> None:
    """A path is relative to the project's folder, or to any folder of the package."""
    paths = re.findall(r"`(\w[\w./-]*(?:/|\.py|\.md|\.toml|\.json))`", text_of(name))
    assert len(paths) > 20
    for path in paths:
        assert (ROOT / path).exists() or any((ROOT / "mcp_bridge").rglob(path.rstrip("/"))), path


def test_the_variables_that_a_server_inherits_are_those_of_the_page() -> None:
    from mcp_bridge.transport.stdio import launch

    text = text_of("docs/security.md")
    for name in (*launch._SDK_POSIX, *launch._SDK_WINDOWS, *launch._OURS, *launch._PROXIES):
        assert re.search(rf"\b{name}\b", text), name
