"""Public names: what a user gains from each rule is in the docstring of its test."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge.tools.names import assign_names, plain_name
from mcp_bridge.tools.tool import RemoteTool

LEGAL = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
texts = (
    st.text(max_size=80) | st.text(alphabet="ab_-./ 读", max_size=6) | st.text(alphabet="x", min_size=60, max_size=70)
)
tools = st.lists(st.builds(RemoteTool, server=texts, remote_name=texts), max_size=12)


def names(*pairs: tuple[str, str]) -> dict[tuple[str, str], str]:
    found = assign_names([RemoteTool(server, tool) for server, tool in pairs])
    return {(tool.server, tool.remote_name): name for name, tool in found.items()}


def test_an_ordinary_tool_is_called_as_the_manual_says() -> None:
    assert names(("calculator", "add")) == {("calculator", "add"): "mcp_calculator_add"}
    assert names(("web-search", "read.file"))["web-search", "read.file"] == "mcp_web_search_read_file"


@given(tools)
def test_every_name_is_accepted_by_every_model_api(found: list[RemoteTool]) -> None:
    """No tool can make the model API refuse the whole request."""
    assert all(LEGAL.fullmatch(name) for name in assign_names(found))


@given(tools)
def test_no_tool_is_lost(found: list[RemoteTool]) -> None:
    """Each tool stays callable, whatever others are called."""
    assert {tool.id for tool in assign_names(found).values()} == {tool.id for tool in found}


@given(tools, st.randoms(use_true_random=False))
def test_names_do_not_depend_on_order(found: list[RemoteTool], chance: random.Random) -> None:
    """A restart, or a server that comes up later, renames nothing the model has learned."""
    unique = list({tool.id: tool for tool in found}.values())
    shuffled = unique.copy()
    chance.shuffle(shuffled)
    assert assign_names(unique) == assign_names(shuffled)


def test_tools_that_look_alike_after_cleaning_all_get_a_hash() -> None:
    found = names(("s", "a.b"), ("s", "a_b"), ("s", "a-b"), ("s", "other"))
    assert found["s", "other"] == "mcp_s_other"
    assert len(set(found.values())) == 4
    assert all(re.fullmatch(r"mcp_s_a_b_[0-9a-f]{8}", found["s", tool]) for tool in ("a.b", "a_b", "a-b"))


def test_servers_that_look_alike_and_ambiguous_joins_are_kept_apart() -> None:
    assert len(set(names(("foo-bar", "x"), ("foo_bar", "x")).values())) == 2
    assert len(set(names(("a_b", "c"), ("a", "b_c")).values())) == 2


def test_a_tool_named_like_the_hashed_form_of_another_does_not_shadow_it() -> None:
    clash = names(("s", "a.b"), ("s", "a_b"))
    hashed = clash["s", "a.b"]
    impostor = hashed.removeprefix("mcp_s_")
    found = names(("s", "a.b"), ("s", "a_b"), ("s", impostor))
    assert found["s", "a.b"] == hashed
    assert found["s", impostor] != hashed


def test_names_without_ascii_letters_are_told_apart_by_a_hash() -> None:
    found = names(("我的 服务", "echo"), ("另一个", "echo"), ("s", "查询天气"), ("s", "🔥"))
    assert len(set(found.values())) == 4
    assert all(re.search(r"_[0-9a-f]{8}$", name) for name in found.values())


def test_long_names_keep_their_beginning_and_differ() -> None:
    long = (
        "get_" + "very_" * 13 + "long_alpha",
        "get_" + "very_" * 13 + "long_beta",
        "q" * 299 + "1",
        "q" * 299 + "2",
    )
    found = names(*(("s", name) for name in long))
    assert len(set(found.values())) == 4
    assert all(len(name) <= 64 for name in found.values())
    assert found["s", long[0]].startswith("mcp_s_get_very_very_")


def test_two_identical_tools_become_the_first_of_them() -> None:
    first, second = RemoteTool("s", "t", "first"), RemoteTool("s", "t", "second")
    assert assign_names([first, second]) == {plain_name("s", "t"): first}


@given(tools, texts)
def test_a_prefix_of_ones_own_keeps_names_legal_unique_and_independent_of_order(
    found: list[RemoteTool], prefix: str
) -> None:
    """A program may call its tools what it likes and still gets each of them past every model API."""
    unique = list({tool.id: tool for tool in found}.values())
    named = assign_names(unique, prefix=prefix)
    assert all(LEGAL.fullmatch(name) for name in named)
    assert len(named) == len(unique)
    assert assign_names(unique[::-1], prefix=prefix) == named


def test_a_prefix_takes_the_place_of_the_servers_name() -> None:
    tool = RemoteTool("我的", "read.file")
    assert list(assign_names([tool], prefix="fs-")) == ["fs-read_file"]
    assert list(assign_names([tool], prefix="")) == ["read_file"]
    assert list(assign_names([RemoteTool("s", "9lives")], prefix="")) == ["mcp_9lives"]
