"""The findings about one server, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StepName = Literal[
    "config", "variables", "program", "start", "address", "connect", "handshake", "tools", "names", "schemas", "ping"
]
"""In this order; `program` and `start` for a local server, `address` and `connect` for a remote one.

`handshake` is `initialize`: the JSON document of `mcp-bridge doctor --json` has always called it so.
"""


@dataclass(frozen=True)
class Step:
    """The finding of one step, and a hint if the owner can do something about it; one line each."""

    step: StepName
    ok: bool
    detail: str
    hint: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """The steps taken for one server, up to the first failure."""

    name: str
    steps: tuple[Step, ...]

    @property
    def ok(self) -> bool:
        return all(step.ok for step in self.steps)
