"""Modes about tool names: long, illegal for models, equal after clean-up.

A call returns `{"called": name, "arguments": ...}`.
"""

from __future__ import annotations

import json

from base import STRING, mode, register, tool
from modes_schema import Receiver

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERY = "get_" + "very_" * 13
NAMES: dict[str, tuple[str, list[str]]] = {
    "long_names": (
        "Names of 64..300 characters, among them three pairs that differ only far behind character 64.",
        [
            "m" * 64,
            "n" * 65,
            VERY + "long_alpha",
            VERY + "long_beta",
            "q" * 299 + "1",
            "q" * 299 + "2",
            "长" * 120 + "一",
            "长" * 120 + "二",
        ],
    ),
    "weird_names": (
        "Names with dots, slashes, spaces, colons, Chinese, emoji, a leading digit or dash, quotes.",
        [
            "admin.tools.list",
            "user/profile",
            "Query all rows",
            "ns:tool",
            "查询天气",
            "🔥",
            "9lives",
            "-dash",
            "_under",
            "UPPER",
            "a\"b'c",
            "back\\slash",
            "%s{0}",
            "tab\tand\nnewline",
            "é́",
            " padded ",
            "...",
            "__init__",
        ],
    ),
    "collide": (
        'Names that become equal after the usual clean-up: a.b a_b a-b a/b "a b", and all-Chinese names.',
        [
            "read.file",
            "read_file",
            "read-file",
            "read/file",
            "read file",
            "读文件",
            "写文件",
            "...",
        ],
    ),
    "collide_more": (
        "Names that equal plain ones of this server, or the prefix another server would give.",
        [
            "ECHO",
            "read_file",
            "READ_FILE",
            "read__file",
            "read_file_",
            "echo.",
            "pid_",
            "mcp_b_echo",
            "echo_2",
            "a__b",
            "a_b",
            "e\u0301cho",
            "\u00e9cho",
            "ｅｃｈｏ",
        ],
    ),
}


class Named(Receiver):
    """A server with many tools of one parameter each."""

    def tools(self) -> list[Any]:
        names = NAMES[self.mode][1]
        entries = [tool(name, f"Tool number {n}.", {"text": STRING}) for n, name in enumerate(names)]
        if self.options.get("order") == "reversed":
            entries.reverse()
        return [*super().tools(), *entries]


for _name, (_oddity, _) in NAMES.items():
    register(_name, Named, _oddity)


@mode("dup_tools")
class DupTools(Receiver):
    """The same tool name twice in one list with different schemas: `twice` takes `first`, then `second`."""

    def tools(self) -> list[Any]:
        first = tool("twice", "The first.", {"first": STRING})
        return [*super().tools(), first, tool("twice", "The second.", {"second": STRING})]


@mode("named")
class Chosen(Receiver):
    """Tools called as `names`=a|b says; `\\ud800` and the like in a name are what they are in JSON."""

    def tools(self) -> list[Any]:
        names: list[str] = json.loads(f'"{self.options.get("names", "")}"').split("|")
        entries = [tool(name, f"Tool {number}.", {"text": STRING}) for number, name in enumerate(names)]
        return [*super().tools(), *entries]
