"""Values that a schema lists: which one a model means, and at what cost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge.text.json_values import same_json
from mcp_bridge.tools.arguments.listed import Listed
from mcp_bridge.tools.arguments.repair import repair_arguments

TEXT: Any = {"type": "string"}
members = st.lists(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([1.0, 0.5, "1", "true", "True", "null", "a", "A ", "[1]", [1], {"a": 1}]),
    max_size=6,
)


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@given(members, members)
def test_what_is_listed_is_what_json_schema_says(listed: list[Any], values: list[Any]) -> None:
    """1 is 1.0 and never true: a model's value is taken for listed exactly where the server takes it."""
    for value in values:
        assert (value in Listed(listed)) == any(same_json(value, one) for one in listed)


@given(members, members)
def test_a_value_becomes_a_listed_one_or_stays(listed: list[Any], values: list[Any]) -> None:
    """What a model sent is never made into a value that the server has not named."""
    for value in values:
        meant = Listed(listed).meant(value)
        assert meant is value or any(meant is one for one in listed) or meant in Listed(listed)


@pytest.mark.parametrize(
    ("listed", "sent", "meant"),
    [
        (["Red", "Green"], " red", "Red"),
        (["a", "A"], "a", "a"),
        (["aB", "Ab"], "ab", "ab"),  # either could be meant
        ([1, 2], "2", 2),
        ([1, "1"], "1", "1"),
        ([True, "yes"], "TRUE", True),
        ([None, 1], "null", None),
        (["1", "2"], 2, "2"),
        (["1.0"], 1, 1),
        ([[1], [2]], "[2]", [2]),
    ],
)
def test_the_one_value_that_is_meant_is_found(listed: list[Any], sent: Any, meant: Any) -> None:
    found = Listed(listed).meant(sent)
    assert (found, type(found)) == (meant, type(meant))


def test_a_long_list_of_long_choices_is_repaired_and_not_compared_one_by_one() -> None:
    """3,000 choices for each of 3,000 items: nine million comparisons would hold the bot for many seconds."""
    schema = of(e={"type": "array", "items": {"enum": [f"value {i}" for i in range(3000)]}})
    sent = {"e": [f"VALUE {i}" for i in range(3000)]}
    assert repair_arguments(sent, schema) == {"e": [f"value {i}" for i in range(3000)]}


def test_a_table_of_a_thousand_rows_is_still_repaired() -> None:
    row = of(id={"type": "integer"}, qty={"type": "integer"}, name=TEXT, note=TEXT)
    rows = [{"id": i, "qty": 5, "name": "x", "note": "n"} for i in range(1000)]
    schema = of(rows={"type": "array", "items": row}, limit={"type": "integer"})
    sent = {"rows": json.dumps(rows), "limit": "5"}
    assert repair_arguments(sent, schema) == {"rows": rows, "limit": 5}


@pytest.mark.parametrize(
    "broken",
    ["['a', 'b']", '["a", "b",]', '```json\n["a"]\n```', '"a"', '["a"', '{"a": 1}', "null", "None", " NULL "],
)
def test_text_that_was_to_be_a_list_is_not_made_the_one_item_of_it(broken: str) -> None:
    """The server would act on nonsense; its error lets the model write the list anew."""
    assert repair_arguments({"p": broken}, of(p={"type": "array", "items": TEXT})) == {"p": broken}


@pytest.mark.parametrize(
    "plain", ["a", "[urgent] mend it", "none of them", "nullable", "{name} is here", '"quoted" words']
)
def test_one_plain_word_in_place_of_a_list_still_becomes_its_item(plain: str) -> None:
    assert repair_arguments({"p": plain}, of(p={"type": "array", "items": TEXT})) == {"p": [plain]}


@pytest.mark.parametrize(
    ("items", "sent", "meant"),
    [
        (of(a={"type": "integer"}) | {"required": ["a"]}, '{"a": "1"}', [{"a": 1}]),
        ({"type": "string", "enum": ["none", "all"]}, "none", ["none"]),
        ({"type": "integer"}, "5", [5]),
    ],
)
def test_one_item_in_place_of_a_list_becomes_its_item_where_that_is_sure(items: Any, sent: str, meant: Any) -> None:
    assert repair_arguments({"p": sent}, of(p={"type": "array", "items": items})) == {"p": meant}


def test_null_as_text_is_null_where_a_list_or_null_is_wanted() -> None:
    for schema in ({"type": "array", "items": TEXT}, {"type": "array", "items": {"type": "integer"}}):
        assert repair_arguments({"p": "null"}, of(p={"anyOf": [schema, {"type": "null"}]})) == {"p": None}
