"""Every text for owners exists in English and Chinese, tells the same in both, and is used."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from mcp_bridge.doctor import texts as doctor_texts
from mcp_bridge.doctor.advice import ADVICE
from mcp_bridge.hosts.owner import texts as owner_texts
from mcp_bridge.text.language import Text, Texts

PACKAGE = Path(__file__).parents[2] / "mcp_bridge"
CATALOGUES = {"doctor": doctor_texts.CATALOGUE, "owner": owner_texts.CATALOGUE}
USERS = {"doctor": [PACKAGE / "doctor", PACKAGE / "cli" / "doctor.py"], "owner": [PACKAGE / "hosts"]}
CALLED = {"texts", "_texts", "words", "_words", "self"}
"""What a catalogue of texts is called where it is used; `self` inside its own class."""
DEFINITIONS = {"CATALOGUE", "LOCAL", "REMOTE", "PROTOCOL"}


def gaps(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("catalogue", CATALOGUES.values(), ids=CATALOGUES)
def test_every_text_has_both_languages_with_the_same_gaps(catalogue: Mapping[str, Text]) -> None:
    for text_id, text in catalogue.items():
        assert text.en.strip(), text_id
        assert text.zh.strip(), text_id
        assert gaps(text.en) == gaps(text.zh), text_id


def test_every_advice_has_both_languages_with_the_same_gaps() -> None:
    for advice_id, advice in ADVICE.items():
        assert all((advice.cause.zh, advice.fix.en, advice.fix.zh)), advice_id
        assert gaps(advice.fix.en) == gaps(advice.fix.zh), advice_id
        if advice.cause.en == "{message}":  # the English error already names what the Chinese cause names
            assert "message" in gaps(advice.cause.zh), advice_id
        else:
            assert gaps(advice.cause.en) == gaps(advice.cause.zh), advice_id


@pytest.mark.parametrize("name", CATALOGUES)
def test_every_text_is_used_and_every_used_text_exists(name: str) -> None:
    used, prefixes = set[str](), set[str]()
    for tree in parsed(USERS[name]):
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and call.args and is_texts(call.func):
                for node in ast.walk(call.args[0]):
                    if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                        prefixes.add(str(node.values[0].value))
                    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                        used.add(node.value)
    ids = set(CATALOGUES[name])
    assert used - prefixes - ids == set()
    assert {one for one in ids - used if not one.startswith(tuple(prefixes))} == set()


def test_every_advice_is_used() -> None:
    constants = {
        node.value
        for tree in parsed([PACKAGE / "doctor"])
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    programs = {"program.node", "program.uv", "program.python", "program.docker"}  # by the kind of a missing program
    assert set(ADVICE) - constants - programs == set()


def test_a_text_is_filled_in_in_the_chosen_language() -> None:
    catalogue = {"on": Text(en="{name} is on", zh="{name} 已打开")}
    assert Texts(catalogue, "en")("on", name="files") == "files is on"
    assert Texts(catalogue, "zh")("on", name="files") == "files 已打开"


def parsed(places: list[Path]) -> Iterator[ast.Module]:
    """Yield the syntax trees of these files and folders without the definitions of the catalogues themselves."""
    for file in (file for place in places for file in (sorted(place.rglob("*.py")) or [place])):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        tree.body = [one for one in tree.body if not is_definition(one)]
        yield tree


def is_definition(node: ast.stmt) -> bool:
    return isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id in DEFINITIONS


def is_texts(called: ast.expr) -> bool:
    match called:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in CALLED
        case ast.Call(func=ast.Name(id=name)):
            return name.endswith("Texts")
        case _:
            return False
