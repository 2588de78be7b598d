"""The machine and the versions that a run was made with."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version

import psutil

import mcp_bridge

from .servers import NODE_PACKAGE, NODE_PACKAGE_VERSION, NodeSubjects


@dataclass(frozen=True)
class Machine:
    """What a reader must know to judge the figures."""

    day: str
    system: str
    cores: int
    memory_gib: float
    load: str
    python: str
    bridge: str
    sdk: str
    node: str

    @classmethod
    def look(cls, node: NodeSubjects) -> Machine:
        """Read the facts of this machine; the load is that of the start of the run."""
        return cls(
            day=date.today().isoformat(),
            system=f"{platform.system()} {platform.release()}, {platform.machine()}",
            cores=len(psutil.Process().cpu_affinity()) if hasattr(psutil.Process, "cpu_affinity") else _cores(),
            memory_gib=psutil.virtual_memory().total / 2**30,
            load=", ".join(f"{one:.1f}" for one in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown",
            python=f"{platform.python_implementation()} {platform.python_version()}",
            bridge=mcp_bridge.__version__,
            sdk=version("mcp"),
            node=_node(node),
        )

    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("date", self.day),
            ("system", self.system),
            ("cores", str(self.cores)),
            ("memory", f"{self.memory_gib:.1f} GiB"),
            ("load before the run (1, 5, 15 min)", self.load),
            ("Python", self.python),
            ("mcp-bridge", self.bridge),
            ("mcp (SDK)", self.sdk),
            ("node", self.node),
        )


def _cores() -> int:
    return os.cpu_count() or 1


def _node(subjects: NodeSubjects) -> str:
    node = shutil.which("node")
    if subjects.direct is None or node is None:
        return f"not measured: {subjects.missing}"
    shown = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    return f"{shown}, {NODE_PACKAGE} {NODE_PACKAGE_VERSION}" + (f"; {subjects.missing}" * bool(subjects.missing))
