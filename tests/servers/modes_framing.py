"""Modes about the bytes around messages: noise on stdout, wrong line ends, messages in pieces."""

from __future__ import annotations

import json
import time

from base import Server, mode, text, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, ClassVar

    from base import Request
    from wire import Message

BANNER = b"=== odd server v1.0 ===\n\n  mode: STDIO\n\t\n"
BOM = b"\xef\xbb\xbf"


class Framing(Server):
    """A server whose oddity is on the pipe only."""

    stdio_only = True
    prefix: ClassVar[bytes] = b""
    suffix: ClassVar[bytes] = b"\n"

    def frame(self, data: bytes) -> Iterable[bytes]:
        return (self.prefix + data + self.suffix,)


@mode("stdout_banner")
class StdoutBanner(Framing):
    """Prints a banner, blank lines and JSON that is not JSON-RPC on stdout, before and between messages."""

    prefix = b'\nHandling request...\n{"level":"info","msg":"request"}\n42\n"text"\nnull\n[]\n{}\ntrue\n'
    suffix = b"\n\ndone.\n"

    def started(self) -> None:
        self.channel.write(BANNER)


@mode("noise_around_call")
class NoiseAroundCall(Server):
    """Prints a line on stdout before and after each tools/call answer (a forgotten print or console.log)."""

    stdio_only = True

    def call(self, request: Request, name: str, arguments: Any) -> Message | None:
        self.channel.write(b"calling " + name.encode() + b"\n")
        result = super().call(request, name, arguments)
        if result is not None:
            self.respond(request, result=result)
        self.channel.write(b"called\n")
        return None


@mode("noise_before")
class NoiseBefore(Framing):
    """Each message follows noise on the same line: print(..., end="") or a prompt."""

    prefix = b"INFO: ready> "


@mode("noise_braces")
class NoiseBraces(Framing):
    """Each message follows noise with braces on the same line: the first `{` does not begin the message."""

    prefix = b"cfg={'a': {1}} [x] "


@mode("noise_after")
class NoiseAfter(Framing):
    """Each message is followed by noise on the same line."""

    suffix = b" // sent\n"


@mode("progress_bar")
class ProgressBar(Framing):
    """Each message follows a progress bar redrawn with CR on the same line (download libraries)."""

    prefix = b"\r  0%|          |\r 50%|#####     |\r100%|##########|"


@mode("ansi_stdout")
class AnsiStdout(Framing):
    """Each message is wrapped in ANSI colour codes, as a colouring logger does."""

    prefix = b"\x1b[32m"
    suffix = b"\x1b[0m\n"


@mode("gbk_stdout")
class GbkStdout(Framing):
    """Prints noise lines in GBK and raw bytes on stdout between valid UTF-8 messages."""

    prefix = "正在处理请求\n".encode("gbk") + b"\xff\x00\xfe\n"


@mode("long_noise")
class LongNoise(Framing):
    """Prints one noise line of `size` (1 MiB) without meaning before each tools/call answer."""

    def call(self, request: Request, name: str, arguments: Any) -> Message | None:
        self.channel.write(b"x" * int(self.number("size", 1 << 20)) + b"\n")
        return super().call(request, name, arguments)


@mode("endless_line")
class EndlessLine(Server):
    """Tool `endless` writes a line that never ends, `size` (100 MiB) bytes; memory must stay bounded."""

    stdio_only = True
    extra = (tool("endless", "Write a line that never ends."),)

    def tool_endless(self, request: Request, arguments: Message) -> None:
        block = b"x" * 65_536
        for _ in range(int(self.number("size", 100 << 20)) // len(block)):
            self.channel.write(block)
        self.channel.write(b"\n")


@mode("bom")
class Bom(Framing):
    """Sends a UTF-8 BOM as the first bytes on stdout (a Windows console wrapper)."""

    def started(self) -> None:
        self.channel.write(BOM)


@mode("bom_each")
class BomEach(Framing):
    """Sends a UTF-8 BOM before each message."""

    prefix = BOM


@mode("crlf")
class Crlf(Framing):
    """Ends lines with CR LF, as text-mode stdout does on Windows."""

    suffix = b"\r\n"


@mode("blank_lines")
class BlankLines(Framing):
    """Puts blank lines and lines of spaces between messages."""

    prefix = b"\n  \n\r\n\t\n"


@mode("content_length")
class ContentLength(Framing):
    """Frames messages with Content-Length headers, as the language server protocol does; also a newline."""

    def frame(self, data: bytes) -> Iterable[bytes]:
        return (b"Content-Length: %d\r\n\r\n" % len(data) + data + b"\n",)


@mode("nul_bytes")
class NulBytes(Framing):
    """Puts NUL bytes before each message (a wrapper that preallocates, or mixed encodings)."""

    prefix = b"\x00\x00"


@mode("no_newline_at_exit")
class NoNewlineAtExit(Server):
    """Tool `last` writes its answer without a line end and exits with status 0."""

    stdio_only = True
    extra = (tool("last", "Answer and exit."),)

    def tool_last(self, request: Request, arguments: Message) -> Message:
        answer = {"jsonrpc": "2.0", "id": request.id, "result": text("the last words")}
        self.channel.write(self.encode(answer))
        self.log.leave(0)


@mode("pretty_printed")
class PrettyPrinted(Framing):
    """Writes each message as indented JSON over several lines (against the specification)."""

    def encode(self, message: Any) -> bytes:
        return json.dumps(message, indent=2, ensure_ascii=False).encode()


@mode("one_write")
class OneWrite(Framing):
    """Each answer shares one write with a notification before and one after it."""

    prefix = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"a"}}\n'
    suffix = b"\n" + prefix


@mode("split_writes")
class SplitWrites(Framing):
    """Writes messages in 3-byte pieces, cutting characters; tool `two` sends 2 messages in one write."""

    extra = (tool("two", "Send a notification and the answer in one write."),)
    whole = False

    def frame(self, data: bytes) -> Iterable[bytes]:
        if self.whole:
            return (data,)
        return [(data + b"\n")[start : start + 3] for start in range(0, len(data) + 1, 3)]

    def tool_two(self, request: Request, arguments: Message) -> None:
        first = {
            "jsonrpc": "2.0",
            "method": "notifications/message",
            "params": {"level": "info", "data": "一"},
        }
        second = {"jsonrpc": "2.0", "id": request.id, "result": text("二 two")}
        self.channel.write(self.encode(first) + b"\n" + self.encode(second) + b"\n")


@mode("slow_write")
class SlowWrite(Framing):
    """Pauses `delay` (0.3) s in the middle of each message, inside a UTF-8 character where there is one."""

    def frame(self, data: bytes) -> Iterable[bytes]:
        middle = next((i for i, byte in enumerate(data) if byte >= 0x80), len(data) // 2) + 1
        yield data[:middle]
        time.sleep(self.number("delay", 0.3))
        yield data[middle:] + b"\n"


@mode("torn_message")
class TornMessage(Framing):
    """Writes half of each message as a line of its own, then the whole message (a retried write)."""

    def frame(self, data: bytes) -> Iterable[bytes]:
        return (data[: len(data) // 2] + b"\n", data + b"\n")


@mode("cat")
class Cat(Server):
    """Echoes the client's own lines back on stdout before answering, as a pseudo-terminal does."""

    stdio_only = True

    def receive_line(self, line: bytes) -> None:
        self.channel.write(line)
        super().receive_line(line)
