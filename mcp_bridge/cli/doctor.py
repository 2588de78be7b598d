"""`mcp-bridge doctor`: each server step by step, and what to do."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..config.bridge_config import BridgeConfig
from ..doctor.diagnose import diagnose, file_objection, longest_wait
from ..doctor.steps import Diagnosis, Step
from ..doctor.texts import Words
from ..store.data_dir import bot_data_dir, default_data_dir
from ..text.language import system_language
from ..text.redaction import Redactor
from .report import Report

LABEL_CHARS = 10


async def run(options: argparse.Namespace, config: BridgeConfig, report: Report) -> int:
    """Check everything and print it; return how many enabled servers fail."""
    words = Words(options.lang or system_language())
    objection = file_objection(config, words)
    redact = Redactor(config.secrets)
    for warning in filter(None, (objection, *config.warnings)):
        print(words("note", text=redact(warning)), file=sys.stderr)
    data_dir = Path(options.data_dir) if options.data_dir else bot_data_dir(config.file) or default_data_dir()
    waiting = words("checking", count=len(config.servers), seconds=f"{longest_wait(config):g}")
    with report.progress(waiting):
        diagnoses = await diagnose(config, words, data_dir=data_dir)
    if report.as_json:
        report.document({"servers": [_as_json(diagnosis) for diagnosis in diagnoses]})
    else:
        _print(diagnoses, words, report, already_said=objection)
    return sum(not diagnosis.ok for diagnosis in diagnoses)


def _as_json(diagnosis: Diagnosis) -> dict[str, object]:
    steps = [{"step": one.step, "ok": one.ok, "detail": one.detail, "hint": one.hint} for one in diagnosis.steps]
    return {"name": diagnosis.name, "ok": diagnosis.ok, "steps": steps}


def _print(diagnoses: Sequence[Diagnosis], words: Words, report: Report, *, already_said: str) -> None:
    for diagnosis in diagnoses:
        report.say(f"{diagnosis.name}: {words('ok' if diagnosis.ok else 'failed')}")
        for step in diagnosis.steps:
            report.say(f"  {_mark(step)} {_padded(words(f'step.{step.step}'))} {step.detail}")
            if step.hint and step.hint != already_said:
                report.say(f"    -> {words('note' if step.ok else 'fix', text=step.hint)}")
        report.say()
    failing = sum(not diagnosis.ok for diagnosis in diagnoses)
    if not diagnoses:
        report.say(words("no_servers"))
    elif failing:
        report.say(words("some_fail", failing=failing, count=len(diagnoses)))
    elif already_said:
        report.say(words("but_the_file", count=len(diagnoses)))
    else:
        report.say(words("all_well", count=len(diagnoses)))


def _mark(step: Step) -> str:
    return "+" if step.ok else "!"


def _padded(label: str) -> str:
    """Return a label as wide as the others on a terminal, where a Chinese character takes two places."""
    width = sum(1 if char.isascii() else 2 for char in label)
    return label + " " * (LABEL_CHARS - width)
