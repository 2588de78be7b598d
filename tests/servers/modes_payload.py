"""Modes about what is inside a message: size, numbers and characters that break parsers."""

from __future__ import annotations

import json

from base import NUMBER, STRING, Server, mode, text, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from base import Request
    from wire import Message

SEPARATORS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e"


@mode("big_line")
class BigLine(Server):
    """Tool `big` answers with one line of `size` bytes (argument or option, default 5 MiB)."""

    extra = (tool("big", "Return a big text.", {"size": NUMBER}),)

    def tool_big(self, request: Request, arguments: Message) -> Message:
        size = int(arguments.get("size", self.number("size", 5 << 20)))
        middle = "汉字" * (max(0, size - 8) // 6)
        filler = "." * max(0, size - 8 - len(middle) * 3)
        return text("HEAD" + middle + filler + "TAIL")


@mode("big_list")
class BigList(Server):
    """tools/list answers with `count` (500) tools and long descriptions in one line of about 1 MiB."""

    def tools(self) -> list[Any]:
        long = "长描述 long description. " * 75
        more = [
            tool(f"tool_{number}", f"Number {number}. {long}", {"text": STRING})
            for number in range(int(self.number("count", 500)))
        ]
        return [*super().tools(), *more]

    def call(self, request: Request, name: str, arguments: Any) -> Message | None:
        if name.startswith("tool_"):
            return text(f"called:{name}")
        return super().call(request, name, arguments)


@mode("unicode_separators")
class UnicodeSeparators(Server):
    """Results hold U+2028/9, U+0085 raw, U+000B/C, U+001C..1E escaped: a splitlines() reader breaks.

    Tool `separators` returns all of them; `echo` surrounds its text with them.
    """

    extra = (tool("separators", "Return all the characters."),)

    def encode(self, message: Any) -> bytes:
        return super().encode(message).replace(b"\\u2028", b"\xe2\x80\xa8")

    def tool_separators(self, request: Request, arguments: Message) -> Message:
        return text("begin" + "|".join(SEPARATORS) + "end")

    def tool_echo(self, request: Request, arguments: Message) -> Message:
        return text(SEPARATORS + str(arguments.get("text", "")) + SEPARATORS)


class RawResult(Server):
    """A server that writes some results as raw JSON, because Python's encoder would refuse or repair them."""

    def raw(self, request: Request, result: str) -> None:
        head = f'{{"jsonrpc":"2.0","id":{json.dumps(request.id)},"result":'
        self.send_bytes((head + result + "}").encode("utf-8", "surrogatepass"), request.id, final=True)


@mode("nan_number")
class NanNumber(RawResult):
    """Tool `nan` answers with bare NaN, `bigint` with a 5000-digit integer, `deep` with 200000 nested arrays.

    Python servers write NaN (json.dumps does). `bigfloat` sends 1e999 and -0.0.
    """

    extra = (
        tool("nan", "Return NaN."),
        tool("bigint", "Return a giant integer."),
        tool("deep", "Return a very deep value."),
        tool("bigfloat", "Return a float beyond the range."),
    )

    def tool_nan(self, request: Request, arguments: Message) -> None:
        values = '{"mean":NaN,"max":Infinity,"min":-Infinity}'
        block = '{"type":"text","text":"mean is NaN"}'
        self.raw(request, f'{{"content":[{block}],"structuredContent":{values}}}')

    def tool_bigint(self, request: Request, arguments: Message) -> None:
        self.raw(request, f'{{"content":[],"structuredContent":{{"n":{"9" * 5000}}}}}')

    def tool_deep(self, request: Request, arguments: Message) -> None:
        depth = int(self.number("depth", 200_000))
        self.raw(request, f'{{"content":[],"structuredContent":{{"n":{"[" * depth}{"]" * depth}}}}}')

    def tool_bigfloat(self, request: Request, arguments: Message) -> None:
        self.raw(request, '{"content":[],"structuredContent":{"n":1e999,"z":-0.0}}')


@mode("surrogate")
class Surrogate(RawResult):
    """Tool `lone` answers with a lone surrogate and control characters: a later encode("utf-8") fails.

    `raw_lone` sends the surrogate as raw bytes (invalid UTF-8), `pair` an emoji as an escaped pair (valid).
    """

    extra = (
        tool("lone", "Return a lone surrogate."),
        tool("raw_lone", "Return a lone surrogate as bytes."),
        tool("pair", "Return an escaped surrogate pair."),
    )

    def one_block(self, request: Request, escaped: str) -> None:
        self.raw(request, f'{{"content":[{{"type":"text","text":"{escaped}"}}]}}')

    def tool_lone(self, request: Request, arguments: Message) -> None:
        self.one_block(request, r"before \ud83d after \u0000\u0007\u001b[31m end")

    def tool_raw_lone(self, request: Request, arguments: Message) -> None:
        self.one_block(request, "before \ud83d after")

    def tool_pair(self, request: Request, arguments: Message) -> None:
        self.one_block(request, r"fire \ud83d\udd25")


@mode("invalid_utf8")
class InvalidUtf8(Server):
    """Messages are in GBK, not UTF-8 (stdout of a Chinese Windows): `weather` shows it, and echo of 中."""

    def encode(self, message: Any) -> bytes:
        return json.dumps(message, ensure_ascii=False).encode("gbk", "replace")

    def tools(self) -> list[Any]:
        return [*super().tools(), tool("weather", "查询天气")]

    def tool_weather(self, request: Request, arguments: Message) -> Message:
        return text("晴")


@mode("escaped_ascii")
class EscapedAscii(Server):
    """All characters beyond ASCII, and slashes, are escaped: valid JSON that a byte search does not find."""

    def encode(self, message: Any) -> bytes:
        return json.dumps(message).replace("/", "\\/").encode()


@mode("duplicate_keys")
class DuplicateKeys(Server):
    """Each object names `jsonrpc` twice, and the answers hold unknown keys and spaces (valid, unusual)."""

    def encode(self, message: Any) -> bytes:
        plain = json.dumps(message, ensure_ascii=False, separators=(" , ", " : "))
        return ('{"jsonrpc":"2.0","x-trace":{"id":99,"method":"x"},' + plain[1:]).encode()


@mode("padded_line")
class PaddedLine(Server):
    """Each message is surrounded by spaces and tabs, 100 kB of them in front."""

    stdio_only = True

    def frame(self, data: bytes) -> Iterable[bytes]:
        return (b" " * 100_000 + b"\t" + data + b"  \t\n",)
