"""Find a mode by name and run it on stdio.

Everything is here rather than in the script because Python caches the byte code of modules, not of scripts.
"""

from __future__ import annotations

import os
import signal
import sys

from base import MODES
from wire import Log, StdioChannel, complain, input_lines, parse_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import FrameType

    from base import Server
    from wire import Channel

FOLDER = os.path.dirname(os.path.abspath(__file__))
MODULES = (
    "modes_process",
    "modes_lifecycle",
    "modes_stderr",
    "modes_framing",
    "modes_payload",
    "modes_protocol",
    "modes_answers",
    "modes_listing",
    "modes_asking",
    "modes_timing",
    "modes_schema",
    "modes_result",
    "modes_names",
    "modes_addresses",
    "modes_arguments",
    "modes_kitchen",
    "modes_security",
    "modes_leaks",
    "modes_soak",
    "modes_helpers",
    "modes_mixed_up",
    "modes_doubt",
)


FAMILIES = {"zoo_": "modes_schema", "result_": "modes_result"}  # names made of a prefix and a key


def candidates(name: str) -> Iterator[str]:
    """Yield the modules that may hold the mode, the likely ones first."""
    for prefix, module in FAMILIES.items():
        if name.startswith(prefix):
            yield module
    for module in MODULES:
        with open(os.path.join(FOLDER, module + ".py"), encoding="utf-8") as file:
            if f'"{name}"' in file.read():
                yield module
    yield from MODULES


def find(name: str) -> type[Server] | None:
    """Import modules until the mode is known; looking into their text first is faster than importing all."""
    if name not in MODES:
        for module in candidates(name):
            __import__(module)
            if name in MODES:
                break
    return MODES[name][0] if name in MODES else None


def named(word: str, environ: Mapping[str, str]) -> str:
    """Return the name of the mode that a command line asks for; it may leave that to the environment."""
    return environ["MODE"] if word == "mode_in_environ" else word


def create(name: str, options: dict[str, str], channel: Channel, log: Log) -> Server:
    kind = find(name)
    if kind is None:
        complain(f"unknown mode {name!r}; `odd_server.py list` shows all")
        sys.exit(2)
    return kind(name, options, channel, log)


def describe() -> str:
    find("")
    return "\n".join(f"{name:24} {oddity}" for name, (_, oddity) in MODES.items())


def watch_signals(server: Server) -> None:
    def handle(number: int, frame: FrameType | None) -> None:
        server.log("signal", signal=signal.Signals(number).name)
        server.signalled(number)

    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None:
            signal.signal(number, handle)


def serve(server: Server, lines: Iterable[bytes]) -> None:
    """Run a server on the lines of its client, until there are none any more."""
    server.started()
    for line in lines:
        server.receive_line(line)
    server.log("eof")
    server.eof()


def main() -> None:
    words = sys.argv[1:] or ["list"]
    if words[0] == "list":
        print(describe())
        return
    options = parse_options(words[1:])
    log = Log(options.get("log") or os.environ.get("ODD_LOG"))
    log("start", argv=sys.argv)
    server = create(named(words[0], os.environ), options, StdioChannel(log), log)
    watch_signals(server)
    serve(server, input_lines())
