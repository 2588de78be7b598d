"""Run the suite on several Pythons and versions of the SDK: `python tests/matrix.py [WORD ...]`.

Each word narrows the choice down (`3.10`, `2.x`). One environment per pair is kept in
`.venv-matrix`. Prints a table, and ends with status 1 if a suite failed or a Python is missing.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.10", "3.13")
SDKS = {"1.25.0": "mcp==1.25.0", "1.28.1": "mcp==1.28.1", "1.x": "mcp<2", "2.x": "mcp>=2,<3"}
SUITE_SECONDS = 1800


def find_python(version: str) -> str | None:
    """Return an interpreter of that version: on PATH, or one that pyenv has installed."""
    if found := shutil.which(f"python{version}"):
        probe = subprocess.run([found, "-c", "import ensurepip"], capture_output=True, check=False)
        if probe.returncode == 0:
            return found
    installed = sorted(Path.home().glob(f".pyenv/versions/{version}*/bin/python"))
    return str(installed[-1]) if installed else None


def environment(python: str, name: str, requirement: str) -> Path:
    """Return the Python of an environment with the project and that SDK."""
    folder = ROOT / ".venv-matrix" / name
    inner = folder / "bin" / "python"
    if not inner.exists():
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
    pip = [str(inner), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-e", f"{ROOT}[test]", requirement], check=True)
    return inner


def run(version: str, sdk: str) -> tuple[str, bool]:
    """Return the last line of one suite's output, and whether it passed."""
    python = find_python(version)
    if python is None:
        return "no such Python here", False
    inner = environment(python, f"py{version}-mcp{sdk}", SDKS[sdk])
    apart = ["--ignore=tests/maibot", "--ignore=tests/webui"]
    command = [
        str(inner),
        "-m",
        "pytest",
        "-q",
        "-n",
        "4",
        "--dist",
        "worksteal",
        "-p",
        "no:cacheprovider",
        "tests",
        *apart,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SUITE_SECONDS, check=False)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    if done.returncode:
        print(done.stdout[-6000:], done.stderr[-2000:], sep="\n")
    last = lines[-1] if lines else done.stderr[-200:]
    shown = subprocess.run([str(inner), "-m", "pip", "show", "mcp"], capture_output=True, text=True, check=True)
    number = re.search(r"Version: (\S+)", shown.stdout)
    return f"mcp {number.group(1) if number else '?'}: {last.strip('= ')}", done.returncode == 0


def main(words: list[str]) -> int:
    pairs = [(version, sdk) for version in PYTHONS for sdk in SDKS]
    chosen = [pair for pair in pairs if all(word in pair for word in words)]
    failed = False
    for version, sdk in chosen:
        started = time.monotonic()
        text, passed = run(version, sdk)
        failed = failed or not passed
        print(
            f"Python {version} | {'ok  ' if passed else 'FAIL'} | {text} | {time.monotonic() - started:.0f} s",
            flush=True,
        )
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
