"""Schemas with references, and tools whose oddity is outside the input schema.

Nothing here points at a machine that exists; a client that fetches references is wrong in any case.
"""

from __future__ import annotations

from zoo_plain import A, B, obj

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from wire import Message

POINT = obj({"id": B, "label": {"type": "string"}}, required=["id"])
NODE = obj({"value": B, "next": {"$ref": "#/$defs/Node"}})


def doubling(depth: int) -> Message:
    """Build definitions that grow twofold per level when references are inlined."""
    defs: Message = {"D0": A}
    for level in range(1, depth + 1):
        ref = {"$ref": f"#/$defs/D{level - 1}"}
        defs[f"D{level}"] = obj({"l": ref, "r": ref})
    return obj({"a": {"$ref": f"#/$defs/D{depth}"}}, **{"$defs": defs})


def chain(length: int) -> Message:
    """Build definitions where each is nothing but a reference to the next."""
    defs: Message = {f"C{n}": {"$ref": f"#/$defs/C{n + 1}"} for n in range(length)}
    defs[f"C{length}"] = {"type": "integer"}
    return obj({"a": {"$ref": "#/$defs/C0"}}, **{"$defs": defs})


def ref(target: str, **more: Any) -> Message:
    return {"$ref": target, **more}


REFS: dict[str, tuple[str, Any]] = {
    "ref_defs": (
        "References into $defs, one nested, with a description beside the reference (pydantic).",
        obj(
            {
                "p": ref("#/$defs/P", description="the point to move"),
                "line": {"type": "array", "items": ref("#/$defs/Line")},
            },
            required=["p"],
            **{"$defs": {"P": POINT, "Line": obj({"start": ref("#/$defs/P"), "end": ref("#/$defs/P")})}},
        ),
    ),
    "ref_definitions": (
        "References into `definitions` (draft 7, zod-to-json-schema, Java).",
        obj({"p": ref("#/definitions/P")}, definitions={"P": obj({"q": ref("#/definitions/Q")}), "Q": POINT}),
    ),
    "ref_root": (
        "The root is a reference (zod-to-json-schema with a name).",
        {"$ref": "#/definitions/Args", "definitions": {"Args": obj({"a": A}, required=["a"])}},
    ),
    "ref_inside": ("A reference to another property.", obj({"a": POINT, "b": ref("#/properties/a")})),
    "ref_dangling": (
        "References to definitions that are not there.",
        obj({"a": ref("#/$defs/Gone"), "b": {"type": "array", "items": ref("#/definitions/None/x")}, "c": A}),
    ),
    "ref_remote": (
        "References to http, file and relative addresses; none must be fetched.",
        obj(
            {
                "a": ref("http://127.0.0.1:9/schema.json"),
                "b": ref("file:///etc/passwd"),
                "c": ref("common.json#/$defs/X"),
                "d": ref("https://json-schema.org/draft/2020-12/schema"),
                "e": A,
            }
        ),
    ),
    "ref_escaped": (
        "References with ~1, ~0 and %20, %25 in the pointer, and through an array index.",
        obj(
            {
                "a": ref("#/$defs/a~1b"),
                "b": ref("#/$defs/m~0n"),
                "c": ref("#/$defs/with%20space"),
                "d": ref("#/$defs/List%3CItem%3E"),
                "e": ref("#/anyOf/0"),
                "f": ref("#/$defs/%E7%82%B9"),
            },
            **{
                "$defs": {
                    "a/b": B,
                    "m~n": {"type": "boolean"},
                    "with space": B,
                    "List<Item>": B,
                    "点": POINT,
                },
                "anyOf": [{"properties": {"g": B}}],
            },
        ),
    ),
    "ref_recursive": (
        "A definition that refers to itself (trees, filters).",
        obj({"tree": ref("#/$defs/Node")}, **{"$defs": {"Node": NODE}}),
    ),
    "ref_cycle": (
        "Two definitions that are nothing but references to each other.",
        obj({"a": ref("#/$defs/X")}, **{"$defs": {"X": ref("#/$defs/Y"), "Y": ref("#/$defs/X")}}),
    ),
    "ref_self": (
        'References to the whole schema, "#".',
        obj({"a": A, "children": {"type": "array", "items": ref("#")}}),
    ),
    "ref_chain": ("A chain of 300 references.", chain(300)),
    "ref_doubling": ("Definitions that become 2^30 values when inlined.", doubling(30)),
    "ref_anchor": (
        "References by $anchor, $dynamicRef and $id.",
        obj(
            {"a": ref("#point"), "b": {"$dynamicRef": "#node"}, "c": ref("urn:x:point")},
            **{
                "$defs": {
                    "P": {**POINT, "$anchor": "point", "$id": "urn:x:point"},
                    "N": {"$dynamicAnchor": "node"},
                }
            },
        ),
    ),
    "ref_not_text": (
        "A reference that is a number, and $defs that is a list.",
        obj({"a": {"$ref": 5}, "b": ref("#/$defs/0")}, **{"$defs": [A]}),
    ),
}

DEFINITION = {"Node": {"properties": {"n": {"$ref": "#/$defs/Node"}}}}

WHOLE_TOOLS: dict[str, tuple[str, Message]] = {
    "no_schema": ("The tool has no inputSchema.", {"description": "No schema."}),
    "schema_null": ("inputSchema is null.", {"inputSchema": None}),
    "schema_string": (
        "inputSchema is JSON in a string.",
        {"inputSchema": '{"type":"object","properties":{}}'},
    ),
    "schema_snake": ("The schema is called input_schema.", {"input_schema": obj({"a": A})}),
    "out_recursive": (
        "outputSchema holds a recursive reference.",
        {"inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "$defs": DEFINITION}},
    ),
    "out_bad": (
        'outputSchema has type "banana".',
        {"inputSchema": {"type": "object"}, "outputSchema": {"type": "banana", "properties": 5}},
    ),
    "out_strict": (
        "outputSchema demands what the result does not hold.",
        {"inputSchema": obj({}), "outputSchema": obj({"n": B}, required=["n"])},
    ),
    "desc_long": (
        "Descriptions of 5000 (tool) and 3000 (parameter) CJK characters.",
        {
            "description": "描述工具的用途。" * 625,
            "inputSchema": obj({"a": {**A, "description": "参数的含义。" * 500}}),
        },
    ),
    "desc_missing": ("The tool has no description.", {"inputSchema": obj({"a": A})}),
    "desc_null": ("The description is null.", {"description": None, "inputSchema": obj({"a": A})}),
    "desc_number": ("The description is a number.", {"description": 5, "inputSchema": obj({"a": A})}),
    "desc_list": ("The description is a list of lines.", {"description": ["a", "b"], "inputSchema": obj({})}),
    "annotations_odd": (
        "annotations and title have wrong types, _meta and icons are null.",
        {"annotations": "readOnly", "title": 5, "_meta": None, "icons": None, "inputSchema": obj({})},
    ),
    "annotations": (
        "A read-only tool with a title and every annotation.",
        {
            "annotations": {
                "title": "Look",
                "readOnlyHint": True,
                "destructiveHint": False,
                "idempotentHint": True,
            },
            "inputSchema": obj({}),
        },
    ),
}
