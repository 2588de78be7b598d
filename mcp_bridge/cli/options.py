"""Commands and options of the command line."""

from __future__ import annotations

import argparse
from typing import NoReturn

from .._version import __version__
from ..errors import BridgeError


class UsageError(BridgeError):
    """The command line, or what it needs, is wrong: exit status 2."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see: {self.prog} --help)")


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands. It raises `UsageError` instead of exiting."""
    common = _Parser(add_help=False)
    common.add_argument(
        "--config", metavar="F", help="config.toml, or a .json file with mcpServers (default: config.toml here)"
    )
    common.add_argument("--data-dir", metavar="DIR", help="folder for stored tools")
    common.add_argument("--json", action="store_true", help="print one JSON document")
    common.add_argument(
        "-v", "--verbose", action="store_true", help="show details, including what servers write to stderr"
    )
    top = _Parser(prog="mcp-bridge", description="Every tool of every MCP server, in a chat bot.")
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", parents=[common], help="start all servers; show their tools and states")
    call = commands.add_parser("call", parents=[common], help="call a tool")
    call.add_argument("name", metavar="NAME", help="name of the tool: mcp_<server>_<tool>")
    call.add_argument("arguments", metavar="JSON", nargs="?", default="{}", help='its arguments, such as {"a": 5}')
    call.add_argument("--chat", metavar="ID", help="call as from this chat, such as qq:group:123")
    call.add_argument("--user", metavar="ID", help="call as this user, such as qq:42")
    call.add_argument("--save-media", metavar="DIR", help="save pictures and other media in this folder")
    doctor = commands.add_parser(
        "doctor", parents=[common], help="check each server step by step and say how to fix it"
    )
    doctor.add_argument("--lang", choices=("en", "zh"), help="language of the output (default: that of the system)")
    chat = commands.add_parser(
        "chat", parents=[common], help="chat in the terminal with a model that can use the tools"
    )
    chat.add_argument("--base-url", metavar="U", help="an OpenAI-compatible API, such as http://127.0.0.1:11434/v1")
    chat.add_argument("--model", metavar="M", help="name of the model (default: the only one of the API)")
    chat.add_argument(
        "--api-key-env", metavar="NAME", help="environment variable that holds the key (default: OPENAI_API_KEY)"
    )
    chat.add_argument("--once", metavar="TEXT", help="ask this, print the answer and exit")
    chat.add_argument("--no-stream", dest="stream", action="store_false", help="receive each answer as a whole")
    import_ = commands.add_parser("import", parents=[common], help="copy another program's servers into config.toml")
    import_.add_argument("file", metavar="FILE", help="a .json file with mcpServers, of any program")
    accept = commands.add_parser(
        "accept", parents=[common], help="accept the tools of a server as they are now (pin = true)"
    )
    accept.add_argument("server", metavar="SERVER")
    commands.add_parser("demo", parents=[common], help="run the bundled calculator, end to end")
    return top
