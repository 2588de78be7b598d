"""Examining servers, and the set-ups that are broken on purpose."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_bridge import load_config
from mcp_bridge.doctor.diagnose import diagnose
from mcp_bridge.doctor.steps import Diagnosis, Step
from mcp_bridge.doctor.texts import DoctorTexts
from mcp_bridge.text.language import Language

LANGUAGES: tuple[Language, ...] = ("en", "zh")


async def examine(file: Path, language: Language, data_dir: Path) -> list[Diagnosis]:
    return await diagnose(load_config(file), DoctorTexts(language), data_dir=data_dir)


async def failing_step(file: Path, language: Language, data_dir: Path) -> Step:
    """Return the one failing step of the one server; it must be the last."""
    (found,) = await examine(file, language, data_dir)
    assert [step.ok for step in found.steps] == [*[True] * (len(found.steps) - 1), False], found
    for step in found.steps:
        assert "\n" not in step.detail + step.hint
        assert "Traceback" not in step.detail + step.hint
    return found.steps[-1]


@dataclass(frozen=True)
class Broken:
    """An entry, where it must fail, and words that cause and fix must hold, each `(English, Chinese)`."""

    entry: str
    step: str
    cause: tuple[str, str]
    fix: tuple[str, str]


def entry(**keys: Any) -> str:
    return "[mcp.servers.s]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())


def nowhere(command: str) -> str:
    return entry(command=command) + 'env = { PATH = "/nowhere" }\n'
