"""What holds for whatever schema a server sends."""

from __future__ import annotations

import copy
import json
import os
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mcp_bridge.tools.schema.shown import rename_parameters, show
from mcp_bridge.tools.schema.strict import ALLOWED
from tests.support.schema_checks import assert_sendable, schemas_in
from tests.support.schemas import junk, names, subschemas, valid_schemas

EXAMPLES = int(os.environ.get("MCP_BRIDGE_EXAMPLES", "200"))  # per property


values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 4) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=5,
)
profiles = st.sampled_from(["default", "strict"])
_settings = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


@_settings
@given(junk | valid_schemas, profiles, st.integers(1, 30))
def test_whatever_a_server_sends_the_request_is_accepted(schema: object, profile: Any, limit: int) -> None:
    """One odd tool never costs the chat all its tools: what is sent passes every check of a model API."""
    if schema is False:
        return
    before = copy.deepcopy(schema)
    result = show(schema, profile=profile, max_description_chars=limit)
    assert_sendable(result.schema)
    assert schema == before
    for node in schemas_in(result.schema):
        assert len(node.get("description", "")) <= limit
        if profile == "strict":
            assert node.keys() <= set(ALLOWED)
            assert ("type" in node) != ("anyOf" in node)  # Gemini refuses what has no type
            assert "enum" not in node or node["type"] == "string"
        assert node.get("default", 0) is not None
    assert show(schema, profile=profile, max_description_chars=limit) == result


@_settings
@given(
    subschemas,
    st.dictionaries(st.sampled_from(["D"]), subschemas, max_size=1),
    st.dictionaries(names, values, max_size=2),
)
def test_what_the_server_accepts_the_shown_schema_accepts(parameter: Any, defs: Any, value: Any) -> None:
    """A host that checks calls against the shown schema refuses nothing that the server would take."""
    schema = {"type": "object", "properties": {"a": parameter, "user id": parameter}, "$defs": defs}
    text = json.dumps(schema)
    if "user_id" in json.dumps(value):
        return  # the name that is shown for "user id"
    if '"not"' in text or '"oneOf"' in text or '"if"' in text or '"contains"' in text:
        return  # what is loosened inside a negation becomes tighter outside
    try:
        accepted = Draft202012Validator(schema).is_valid(value)
    except Exception:  # an endless or dangling reference, which the validator cannot judge
        return
    if accepted:
        result = show(schema)
        back = {old: new for new, old in result.names.items()}
        assert Draft202012Validator(result.schema).is_valid(renamed(value, back)), result.schema


def renamed(value: Any, new: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {new.get(key, key): renamed(member, new) for key, member in value.items()}
    return [renamed(member, new) for member in value] if isinstance(value, list) else value


@_settings
@given(st.lists(st.text(max_size=70) | names, max_size=6, unique=True), st.randoms())
def test_every_parameter_name_finds_its_way_back(originals: list[str], random: Any) -> None:
    """A tool with parameters in any language or spelling gets each value under its own name."""
    originals = [name.encode("utf-8", "replace").decode() for name in originals]
    schema = {"properties": {"top": {"type": "object", "properties": {n: {} for n in originals}}}}
    result = show(schema)
    assert_sendable(result.schema)
    inner = list(result.schema["properties"]["top"]["properties"])
    assert len(inner) == len(set(originals))
    restored = result.restore({"top": {name: i for i, name in enumerate(inner)}})
    assert sorted(restored["top"]) == sorted(set(originals))
    random.shuffle(originals)
    again = show({"properties": {"top": {"type": "object", "properties": {n: {} for n in originals}}}})
    assert dict(again.names) == dict(result.names)


@_settings
@given(valid_schemas, st.sets(names))
def test_a_host_can_keep_any_name_for_itself(schema: Any, reserved: set[str]) -> None:
    """No parameter is swallowed by a host: none shares its name, none is lost, and each is mapped back."""
    first = show(schema).schema
    new, back = rename_parameters(first, reserved)
    assert not new["properties"].keys() & reserved
    assert [back.get(name, name) for name in new["properties"]] == list(first["properties"])
    assert_sendable(new)


@_settings
@given(valid_schemas)
@example({"definitions": {"E": {"properties": {}, "required": ["a"], "type": ["array", "object"]}}})
def test_showing_twice_is_showing_once(schema: Any) -> None:
    """A shown schema that passes through the bridge again, by a host or a catalogue, stays as it is."""
    first = show(schema).schema
    assert show(first).schema == first
