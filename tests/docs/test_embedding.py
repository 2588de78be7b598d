"""The code of docs/embedding.md, run as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.support.places import ROOT

TEXT = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
SHAPES = dict(re.findall(r"^## ([^\n]+)\n.*?^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE))


def test_each_of_the_five_shapes_has_its_code() -> None:
    assert len(SHAPES) == 5


@pytest.mark.process
@pytest.mark.parametrize("shape", SHAPES)
def test_the_code_of_a_shape_adds_five_and_three(shape: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHAPES[shape]],
        cwd=ROOT,
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "8.0"), done.stderr
