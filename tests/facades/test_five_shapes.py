"""One server in all five shapes: the same tools, answers and words. docs/embedding.md shows what is seen here.

To write that part of the page anew: `python -m tests.facades.test_five_shapes`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.five_shapes import AFTERWARDS, CALLS, LEGACY, LIMIT_SECONDS, SERVER, SHAPES, View, gather
from tests.support.places import ROOT
from tests.support.processes import children

pytestmark = pytest.mark.process

DOCUMENT = ROOT / "docs" / "embedding.md"
BEGIN, END = "<!-- Made by `python -m tests.facades.test_five_shapes`. -->\n", "<!-- The end of what is made. -->\n"
SAME = "the same"
OWN_NAMES = "StdioStatefulClient"
"""The shape whose tools have the server's own names, as in agentscope."""
RAISED = {
    ("MCPManager", "closed"): "ToolExecutionError",
    ("StdioStatefulClient", "slow"): "CallTimeout",
    ("StdioStatefulClient", "fire"): "ServerUnavailable",
}
"""Where a shape's documented way is to raise, and what; everywhere else a text is returned."""
TO_BE_OPENED = {"McpToolset": "McpSessionNotEstablishedError", "StdioStatefulClient": "RuntimeError"}
"""Shapes that a program opens and closes itself: used at the wrong time they tell the program what to do."""
Views = Mapping[str, View]


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Views]:
    before = children()
    yield gather(tmp_path_factory.mktemp("shapes"))
    assert children() <= before


def others(views: Views) -> dict[str, View]:
    return {shape: view for shape, view in views.items() if shape != "bot"}


def test_names_and_descriptions_are_the_same(views: Views) -> None:
    assert views["bot"].names == {name: f"mcp_{SERVER}_{name}" for name in CALLS}
    assert views["bot"].descriptions["order"] == "[MCP:kitchen] Order a dish."
    for shape, view in others(views).items():
        assert view.descriptions == views["bot"].descriptions, shape
        assert view.names == (dict(zip(CALLS, CALLS, strict=True)) if shape == OWN_NAMES else views["bot"].names), shape


def test_schemas_are_the_same_but_for_a_host_that_knows_four_types(views: Views) -> None:
    assert views["bot"].schemas["menu"] == {"type": "object", "properties": {}}
    assert views["bot"].schemas["order"]["properties"]["dish"]["enum"] == ["soup", "bread"]
    assert views["bot"].schemas["order"]["properties"]["table"]["required"] == ["number"]
    for shape, view in others(views).items():
        assert shape == LEGACY or view.schemas == views["bot"].schemas, shape
    assert views["MCPManager"].definitions == views["OpenAI"].definitions


def test_four_types_still_say_all_that_the_schema_says(views: Views) -> None:
    """What is nested is asked for as JSON text, and its schema stands in the description."""
    schema, flat = views["bot"].schemas["order"], views[LEGACY].schemas["order"]
    assert views[LEGACY].schemas["menu"] == []
    assert [one[0] for one in flat] == list(schema["properties"])
    for name, kind, description, required, enum in flat:
        own = dict(schema["properties"][name])
        told = own.pop("description", name)
        assert required == (name in schema["required"])
        if own["type"] in ("object", "array"):
            before, _, shape = description.partition(" (JSON text of this schema: ")
            assert (kind, before, json.loads(shape.removesuffix(")")), enum) == ("string", told, own, None)
        else:
            assert (kind, description, enum) == (own["type"], told, own.get("enum"))


def test_the_signature_has_the_types_of_the_schema(views: Views) -> None:
    dish, table, extras = "dish: Literal['soup', 'bread']", "table: dict[str, typing.Any]", "extras: list[str]"
    assert views["McpToolset"].signature == f"(*, {dish}, {table} | None = None, {extras} | None = None) -> str"


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_call_comes_to_the_same_words(views: Views, shape: str, call: str) -> None:
    reply = views[shape].replies[call]
    assert reply.text == views["bot"].replies[call].text
    assert reply.raised == RAISED.get((shape, call), "")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("closed", f"Tool 'closed' of MCP server '{SERVER}' reported an error: the kitchen is closed"),
        ("slow", f"tool 'slow' of MCP server '{SERVER}': no answer and no progress for {LIMIT_SECONDS} s. Try once"),
        ("fire", f"tool 'fire' of MCP server '{SERVER}': the server stopped during tools/call (exit status 3). Answer"),
        (AFTERWARDS, f"tool 'menu' of MCP server '{SERVER}': the bridge is shut down. Answer without this tool"),
    ],
)
def test_an_error_says_what_failed_where_and_what_to_try(views: Views, call: str, words: str) -> None:
    assert views["bot"].replies[call].text.startswith(words)


def test_nested_arguments_arrive_as_they_were_meant(views: Views) -> None:
    for shape, view in views.items():
        assert json.loads(view.replies["order"].text) == CALLS["order"], shape


def test_after_the_end_models_are_told_and_programs_get_the_fix(views: Views) -> None:
    for shape, view in views.items():
        reply = view.replies[AFTERWARDS]
        if shape in TO_BE_OPENED:
            assert reply.raised == TO_BE_OPENED[shape]
            assert f"MCP {'server' if shape == 'McpToolset' else 'client'} '{SERVER}'" in reply.text
            assert "await" in reply.text
            assert "connect()" in reply.text
        else:
            assert reply == views["bot"].replies[AFTERWARDS], shape


def test_the_documentation_shows_what_was_seen_now(views: Views) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text == rewritten(text, views), "run: python -m tests.facades.test_five_shapes"


def rewritten(text: str, views: Views) -> str:
    """Return the page with its part between the two marks made anew."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin, "the mark where the part begins is gone"
    assert end, "the mark where the part ends is gone"
    return before + begin + made(views) + end + after


HEADS = {
    "bot": "`create_mcp_tool_class`",
    LEGACY: "the same class in MaiBot 0.10 - 0.12",
    "McpToolset": "`McpToolset`",
    "MCPManager": "`MCPManager`",
    "StdioStatefulClient": "`StdioStatefulClient`",
    "OpenAI": "`hosts.openai`",
}
SAID = {
    "order": "answer of `order`",
    "menu": "answer of `menu`",
    "closed": "`closed` fails",
    "slow": f"`slow` takes longer than `call_timeout = {LIMIT_SECONDS}`",
    "fire": "`fire` ends the server",
    AFTERWARDS: "`menu` when all is closed",
}


def made(views: Views) -> str:
    """Return the table and the three schemas under it."""
    bot = views["bot"]
    rows = [
        ["", *(HEADS[shape] for shape in SHAPES)],
        ["---"] * (len(SHAPES) + 1),
        ["name", *names(views)],
        ["description", f"`{bot.descriptions['order']}`", *same(views, "descriptions")],
        ["schema", "(1)", *schemas(views)],
        *([SAID[call], *said(views, call)] for call in (*CALLS, AFTERWARDS)),
    ]
    blocks = [
        ("(1) The schema of `order`; that of `menu` is `" + line(bot.schemas["menu"]) + "`:", [bot.schemas["order"]]),
        (f"(2) In {LEGACY}, whose tools have parameters of four types:", views[LEGACY].schemas["order"]),
    ]
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"
    for head, values in blocks:
        text += f"\n{head}\n\n```json\n" + "\n".join(map(line, values)) + "\n```\n"
    return text + f"\n(3) The signature of the function:\n\n```\norder{views['McpToolset'].signature}\n```\n"


def line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def names(views: Views) -> list[str]:
    shown = [view.names["order"] for view in views.values()]
    return [f"`{shown[0]}`", *(SAME if one == shown[0] else f"`{one}`" for one in shown[1:])]


def same(views: Views, kind: str) -> list[str]:
    reference = getattr(views["bot"], kind)
    return [SAME if getattr(view, kind) == reference else "another" for view in others(views).values()]


def schemas(views: Views) -> list[str]:
    cells = dict(zip(others(views), same(views, "schemas"), strict=True))
    cells[LEGACY] = "5-tuples (2)"
    cells["McpToolset"] += ", and a signature (3)"
    return list(cells.values())


def said(views: Views, call: str) -> list[str]:
    """Return the cells of a call: the first holds the words, the others what differs."""
    cells = []
    for shape, view in views.items():
        reply = view.replies[call]
        words = SAME if shape != "bot" and reply.text == views["bot"].replies[call].text else f"`{reply.text}`"
        cells.append(f"{words}, raised as `{reply.raised}`" if reply.raised else words)
    return cells


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        page = rewritten(DOCUMENT.read_text(encoding="utf-8"), gather(Path(folder)))
    DOCUMENT.write_text(page, encoding="utf-8", newline="\n")
