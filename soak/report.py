"""The report of a run: a line a minute, a table at the end, a document for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .judge import Judge
from .memory import LIMIT_MIB, MIB, Memory, rss
from .options import Options
from .pulse import Pulse
from .remains import Remains

SHOWN_SAMPLES = 15


@dataclass
class Report:
    """Everything that is known of a run."""

    options: Options
    judge: Judge
    memory: Memory
    pulse: Pulse
    troubles: dict[str, int]
    seconds: float = 0.0
    left: dict[str, int] | None = None
    """What there was more of at the end than before; None if the end was not reached."""
    remains: Remains | None = None

    @property
    def passed(self) -> bool:
        return not self.judge.fault_count and self.left == {}

    def finish(self, before: Remains, after: Remains) -> None:
        """Take what is left, and judge it."""
        self.remains, self.left = after, after.beyond(before)
        for name, more in self.left.items():
            self.judge.fault(f"left behind: {more} {name}")
        growth = self.memory.growth_mib
        if growth is not None and growth >= LIMIT_MIB:
            self.judge.fault(f"memory grew by {growth:.2f} MiB since minute 2 (limit {LIMIT_MIB:g})")

    def line(self, now: float, used: float, children: int) -> str:
        """Return the progress at one moment."""
        failed = self.judge.calls - self.judge.outcomes["answered"]
        return (
            f"{now / 60:6.1f} min  {self.judge.calls} calls, {failed} of them failed or cancelled;"
            f" {self.troubles.get('kills', 0)} kills, {self.troubles.get('generations', 0)} generations;"
            f" {children} processes, {used:.2f} cores, {rss() / MIB:.1f} MiB; {self.judge.fault_count} faults"
        )

    def document(self) -> dict[str, Any]:
        """Return all figures as JSON can hold them."""
        return {
            "passed": self.passed,
            "seed": self.options.seed,
            "seconds": round(self.seconds, 1),
            "calls": self.judge.calls,
            "outcomes": dict(self.judge.outcomes.most_common()),
            "failures": dict(self.judge.kinds.most_common()),
            "troubles": self.troubles,
            "left": self.left,
            "at the end": asdict(self.remains) if self.remains else None,
            "rss_mib": [round(used / MIB, 2) for _, used in self.memory.samples],
            "growth_mib": _rounded(self.memory.growth_mib),
            "slope_mib_per_hour": _rounded(self.memory.slope_mib_per_hour),
            "stalls": self.pulse.stalls,
            "longest_stall_seconds": round(self.pulse.longest, 2),
            "not_judged": self.judge.not_judged,
            "fault_count": self.judge.fault_count,
            "faults": self.judge.faults,
        }

    def table(self) -> str:
        """Return the outcome for people."""
        known = self.document()
        rows: list[tuple[str, object]] = [("seed", known["seed"]), ("seconds", known["seconds"])]
        rows += [("calls", known["calls"]), *((f"  {name}", count) for name, count in known["outcomes"].items())]
        rows += list(self.troubles.items())
        rows += [(f"left: {name}", (self.left or {}).get(name, 0)) for name in asdict(self.remains or _NONE)]
        rows += [("RSS at rest, MiB", ", ".join(f"{used:.1f}" for used in _some(known["rss_mib"])))]
        rows += [(f"growth since minute 2, MiB (limit {LIMIT_MIB:g})", _shown(known["growth_mib"]))]
        rows += [("slope since minute 2, MiB per hour", _shown(known["slope_mib_per_hour"]))]
        rows += [
            ("moments without a processor", known["stalls"]),
            ("longest of them, s", known["longest_stall_seconds"]),
        ]
        rows += [("late, not judged because of that", known["not_judged"]), ("faults", known["fault_count"])]
        width = max(len(name) for name, _ in rows)
        lines = [f"{name:{width}}  {value}" for name, value in rows]
        lines += ["", "failures by their words:"]
        lines += [f"{count:8}  {kind}" for kind, count in self.judge.kinds.most_common()]
        lines += ["", *(f"FAULT: {text}" for text in self.judge.faults), "passed" if self.passed else "FAILED"]
        return "\n".join(lines)


_NONE = Remains(0, 0, 0, 0, 0, 0)


def _some(values: list[float]) -> list[float]:
    """Return at most `SHOWN_SAMPLES` of them, evenly chosen, the last among them."""
    step = -(-len(values) // SHOWN_SAMPLES) or 1
    return values[::-1][::step][::-1]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _shown(value: float | None) -> object:
    return "the run was too short" if value is None else value
