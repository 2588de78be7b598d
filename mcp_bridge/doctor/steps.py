"""What was found out about a server, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StepName = Literal[
    "config", "variables", "program", "start", "address", "connect", "handshake", "tools", "names", "schemas", "ping"
]
"""In the order in which they are taken; `program` and `start` for a local server, `address` and `connect`
for a remote one."""


@dataclass(frozen=True)
class Step:
    """One step: how it went and, where something can be done about it, what. Both are one line."""

    step: StepName
    ok: bool
    detail: str
    hint: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """All steps of a server as far as they were taken: they end at the first failure."""

    name: str
    steps: tuple[Step, ...]

    @property
    def ok(self) -> bool:
        return all(step.ok for step in self.steps)
