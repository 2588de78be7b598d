"""`mcp-bridge doctor`: check each server step by step, and say how to fix it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..config.bridge_config import BridgeConfig
from ..doctor.diagnose import diagnose, file_objection, longest_wait
from ..doctor.steps import Diagnosis
from ..doctor.texts import DoctorTexts
from ..store.data_dir import bot_data_dir, default_data_dir
from ..text.language import system_language
from ..text.redaction import Redactor
from .report import Report

LABEL_CHARS = 10
"""Width of the longest step name, in columns of a terminal."""


async def run(options: argparse.Namespace, config: BridgeConfig, report: Report) -> int:
    """Check all servers and print the findings; return how many enabled servers fail.

    Raises `BridgeError` if this Python cannot import the SDK.
    """
    texts = DoctorTexts(options.lang or system_language())
    objection = file_objection(config, texts)
    redact = Redactor(config.secrets)
    for warning in filter(None, (objection, *config.warnings)):
        print(texts("note", text=redact(warning)), file=sys.stderr)
    data_dir = Path(options.data_dir) if options.data_dir else bot_data_dir(config.file) or default_data_dir()
    with report.progress(texts("checking", count=len(config.servers), seconds=f"{longest_wait(config):g}")):
        diagnoses = await diagnose(config, texts, data_dir=data_dir)
    if report.as_json:
        report.document({"servers": [_as_json(diagnosis) for diagnosis in diagnoses]})
    else:
        for diagnosis in diagnoses:
            _print(diagnosis, texts, report, printed_already=objection)
        report.say(_summary(diagnoses, texts, file_rejected=bool(objection)))
    return sum(not diagnosis.ok for diagnosis in diagnoses)


def _as_json(diagnosis: Diagnosis) -> dict[str, object]:
    steps = [{"step": one.step, "ok": one.ok, "detail": one.detail, "hint": one.hint} for one in diagnosis.steps]
    return {"name": diagnosis.name, "ok": diagnosis.ok, "steps": steps}


def _print(diagnosis: Diagnosis, texts: DoctorTexts, report: Report, *, printed_already: str) -> None:
    """Print the steps of a server, without a hint that stands on stderr already."""
    report.say(f"{diagnosis.name}: {texts('ok' if diagnosis.ok else 'failed')}")
    for step in diagnosis.steps:
        mark = "+" if step.ok else "!"
        report.say(f"  {mark} {_padded(texts(f'step.{step.step}'))} {step.detail}")
        if step.hint and step.hint != printed_already:
            report.say(f"    -> {texts('note' if step.ok else 'fix', text=step.hint)}")
    report.say()


def _summary(diagnoses: Sequence[Diagnosis], texts: DoctorTexts, *, file_rejected: bool) -> str:
    failing = sum(not diagnosis.ok for diagnosis in diagnoses)
    if not diagnoses:
        return texts("no_servers")
    if failing:
        return texts("some_failed", failing=failing, count=len(diagnoses))
    return texts("file_rejected" if file_rejected else "all_ok", count=len(diagnoses))


def _padded(label: str) -> str:
    """Return a label padded to `LABEL_CHARS`; a Chinese character takes two columns of a terminal."""
    width = sum(1 if char.isascii() else 2 for char in label)
    return label + " " * (LABEL_CHARS - width)
