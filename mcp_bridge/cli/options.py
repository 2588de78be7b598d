"""The words of the command line."""

from __future__ import annotations

import argparse
from typing import NoReturn

from .._version import __version__
from ..errors import BridgeError


class UsageError(BridgeError):
    """The command line itself is wrong."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see: {self.prog} --help)")


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; it raises `UsageError`."""
    common = _Parser(add_help=False)
    common.add_argument("--config", metavar="F", help="config.toml, or a .json file with mcpServers")
    common.add_argument("--data-dir", metavar="DIR", help="where found tools are kept")
    common.add_argument("--json", action="store_true", help="print one JSON document")
    common.add_argument("-v", "--verbose", action="store_true", help="show what happens")
    whole = _Parser(prog="mcp-bridge", description="Every tool of every MCP server, in a chat bot.")
    whole.add_argument("--version", action="version", version=__version__)
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", parents=[common], help="show servers and tools")
    call = commands.add_parser("call", parents=[common], help="call a tool")
    call.add_argument("name", metavar="NAME", help="mcp_<server>_<tool>")
    call.add_argument("arguments", metavar="JSON", nargs="?", default="{}", help='such as {"a": 5}')
    call.add_argument("--chat", metavar="ID", help="act for a chat, such as qq:group:123")
    call.add_argument("--user", metavar="ID", help="act for a user, such as qq:42")
    call.add_argument("--save-media", metavar="DIR", help="write pictures and other media there")
    doctor = commands.add_parser("doctor", parents=[common], help="check each server and say what to do")
    doctor.add_argument("--lang", choices=("en", "zh"), help="language of the advice (default: the system's)")
    chat = commands.add_parser("chat", parents=[common], help="talk with a model that can use the tools")
    chat.add_argument("--base-url", metavar="U", help="an OpenAI-compatible API, such as http://127.0.0.1:11434/v1")
    chat.add_argument("--model", metavar="M", help="default: the only one that the API has")
    chat.add_argument("--api-key-env", metavar="NAME", help="the variable with the key (default: OPENAI_API_KEY)")
    chat.add_argument("--once", metavar="TEXT", help="ask this, print the answer, end")
    chat.add_argument("--no-stream", dest="stream", action="store_false", help="take each answer as a whole")
    take = commands.add_parser("import", parents=[common], help="write another program's servers into config.toml")
    take.add_argument("file", metavar="FILE", help="a .json file with mcpServers, of whatever program")
    accept = commands.add_parser("accept", parents=[common], help="accept a server's changed tools (pin = true)")
    accept.add_argument("server", metavar="SERVER")
    commands.add_parser("demo", parents=[common], help="the bundled example, end to end")
    return whole
