"""Run the tests of the real packages: `python tests/integrations/run.py [NAME ...]`.

Each package gets an environment of its own in `.venv-integrations`, since they pin different
versions of the SDK. Prints a line for each, and ends with status 1 if one failed or could not be run.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests" / "integrations"
FOLDER = ROOT / ".venv-integrations"
SUITE_SECONDS = 900
PROBE_SECONDS = 60
"""Most that an interpreter may take to tell its version."""


@dataclass(frozen=True)
class Package:
    """What is installed beside the project, and the tests that need it."""

    tests: str
    requirements: tuple[str, ...]
    least_python: tuple[int, int] = (3, 10)


PACKAGES = {
    "liteai": Package("test_liteai.py", ("liteai-sdk==0.6.0", "mcp==1.25.0")),
    "agentscope-1": Package("test_agentscope_1.py", ("agentscope==1.0.21", "mcp<2", "greenlet", "tqdm")),
    "agentscope-2": Package("test_agentscope_2.py", ("agentscope==2.0.11", "mcp>=2,<3"), (3, 11)),
    "maibot-compat": Package("test_maibot_compat.py", ("maibot-plugin-sdk==2.16.0", "mcp<2"), (3, 12)),
    "openai": Package("test_openai_package.py", ("openai>=1.56",)),
}


def find_python(least: tuple[int, int]) -> str | None:
    """Return an interpreter of at least that version: this one, one on PATH, or one of pyenv's."""
    if sys.version_info[:2] >= least:
        return sys.executable
    return next((python for python in _candidates(least[1]) if _runs(python)), None)


def _candidates(least_minor: int) -> Iterator[str]:
    for minor in range(least_minor, 14):
        if found := shutil.which(f"python3.{minor}"):
            yield found
        yield from map(str, sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"), reverse=True))


def _runs(python: str) -> bool:
    """Tell whether that is an interpreter; pyenv puts a shim on PATH also for one that it does not run here."""
    command = [python, "-c", "import ensurepip, venv"]
    return subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS, check=False).returncode == 0


def run(name: str, package: Package) -> tuple[bool, str]:
    """Return whether the tests of a package passed, and the last line of what they said."""
    python = find_python(package.least_python)
    if python is None:
        return False, f"needs Python {package.least_python[0]}.{package.least_python[1]}"
    inner = FOLDER / name / "bin" / "python"
    if not inner.exists():
        subprocess.run([python, "-m", "venv", str(FOLDER / name)], check=True)
    pip = [str(inner), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-e", str(ROOT), "pytest", "pytest-asyncio", "hypothesis", "psutil"], check=True)
    subprocess.run([*pip, *package.requirements], check=True)
    # -rs: a test that is skipped here has tested nothing, and that is a failure.
    command = [str(inner), "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", str(TESTS / package.tests)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SUITE_SECONDS, check=False)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    last = lines[-1].strip("= ") if lines else done.stderr[-200:]
    passed = done.returncode == 0 and "skipped" not in last
    if not passed:
        print(done.stdout[-6000:], done.stderr[-2000:], sep="\n")
    return passed, last


def main(names: list[str]) -> int:
    failed = False
    for name in names or PACKAGES:
        started = time.monotonic()
        try:
            passed, text = run(name, PACKAGES[name])
        except (subprocess.SubprocessError, OSError) as error:  # no reason to leave out the packages after it
            passed, text = False, str(error)
        failed = failed or not passed
        print(f"{name:14} | {'ok  ' if passed else 'FAIL'} | {text} | {time.monotonic() - started:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
