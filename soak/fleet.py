"""The nine servers of a run, three for each session strategy, and random edits of their configuration."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_bridge.config.bridge_config import BridgeConfig, parse_config

SERVERS = Path(__file__).parents[1] / "tests" / "servers"
STRATEGIES = ("fresh", "shared", "chat")
KINDS = ("direct", "shell", "http")
MARK_VARIABLE = "MCP_BRIDGE_SOAK"
"""Environment variable of every process of a run, by which left-over processes are found."""
CALL_SECONDS, CONNECT_SECONDS = 2.0, 10.0
DENIABLE = ("tell", "big", "slow")


@dataclass(frozen=True)
class Rules:
    """What the configuration of one generation refuses."""

    denied: frozenset[tuple[str, str]] = frozenset()
    """Server and tool."""
    closed: frozenset[str] = frozenset()
    """Servers that private chats may not use."""
    disabled: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Fleet:
    """`mark` names this run, `ports` are those of the servers over HTTP."""

    mark: str
    ports: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def names() -> dict[str, str]:
        """Return every server's name with its strategy."""
        return {f"{strategy}_{kind}": strategy for strategy in STRATEGIES for kind in KINDS}

    def plain(self) -> dict[str, dict[str, Any]]:
        """Return the entries before any edit."""
        return {name: self._entry(name, strategy) for name, strategy in self.names().items()}

    def edited(self, dice: random.Random) -> tuple[BridgeConfig, Rules]:
        """Return a configuration with some edits, and what it refuses."""
        entries, top = self.plain(), {"max_spares": dice.choice((2, 4, 6))}
        denied: set[tuple[str, str]] = set()
        closed: set[str] = set()
        disabled: set[str] = set()
        for name in dice.sample(sorted(entries), 5):
            entry = entries[name]
            match dice.randrange(7):
                case 0:
                    entry["call_timeout"] = dice.choice((1, 3))
                case 1:
                    entry["warm"] = dice.choice((0, 2, 3))
                case 2:
                    entry["max_sessions"] = dice.choice((4, 6, 12))
                case 3:
                    entry["idle_timeout"] = dice.choice((1, 5))
                case 4:
                    denied.add((name, tool := dice.choice(DENIABLE)))
                    entry["tools"] = {"deny": [tool]}
                case 5:
                    closed.add(name)
                    entry["chats"] = ["qq:group:*"]
                case 6 if not disabled:
                    disabled.add(name)
                    entry["enabled"] = False
        rules = Rules(frozenset(denied), frozenset(closed), frozenset(disabled))
        return parse_config({"mcp": {"servers": entries, **top}}), rules

    def _entry(self, name: str, strategy: str) -> dict[str, Any]:
        limits = {"call_timeout": CALL_SECONDS, "connect_timeout": CONNECT_SECONDS, "idle_timeout": 20}
        entry: dict[str, Any] = {"session": strategy, "max_sessions": 8, **limits}
        if name in self.ports:
            return {**entry, "url": f"http://127.0.0.1:{self.ports[name]}/mcp", "transport": "http"}
        # -I -S: starts in half the time.
        command = [sys.executable, "-I", "-S", str(SERVERS / "odd_server.py"), "soak"]
        if name.endswith("_shell") and os.name != "nt":
            command = ["sh", "-c", '"$@"; exit $?', "sh", *command]
        return {**entry, "command": command[0], "args": command[1:], "env": {MARK_VARIABLE: self.mark}}
