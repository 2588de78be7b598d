"""Where the servers are installed: those from npm in one folder, each one from PyPI in its own environment."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from .table import RealServer

FOLDER = Path(__file__).parents[2] / ".venv-servers"
NPM = FOLDER / "npm"


class NotInstalled(Exception):
    """It cannot be installed; the text says why. `skipped` if a program that it needs is not here."""

    def __init__(self, reason: str, *, skipped: bool = False) -> None:
        super().__init__(reason)
        self.skipped = skipped


def install(server: RealServer) -> Path:
    """Install a server unless that version is there; return its program. Raises `NotInstalled`."""
    if server.needs and shutil.which(server.needs) is None:
        raise NotInstalled(f"needs {server.needs}", skipped=True)
    return _from_npm(server) if server.source == "npm" else _from_pypi(server)


def _from_npm(server: RealServer) -> Path:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise NotInstalled("needs node and npm", skipped=True)
    program = NPM / "node_modules" / ".bin" / (server.program + ".cmd" * (sys.platform == "win32"))
    manifest = NPM / "node_modules" / server.package / "package.json"
    if not manifest.exists() or json.loads(manifest.read_bytes())["version"] != server.version:
        _announce(server)
        NPM.mkdir(parents=True, exist_ok=True)
        options = ["--no-fund", "--no-audit", "--loglevel=error", "--save-exact"]
        _run([npm, "install", "--prefix", str(NPM), *options, f"{server.package}@{server.version}"])
    return program


def _from_pypi(server: RealServer) -> Path:
    folder = FOLDER / server.name
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    wanted = " ".join([f"{server.package}=={server.version}", *server.beside])
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        _announce(server)
        _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, *wanted.split()])
        stamp.write_text(wanted)
    return programs / (server.program + ".exe" * (sys.platform == "win32"))


def _announce(server: RealServer) -> None:
    print(f"installing {server.package} {server.version} ...", flush=True)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        raise NotInstalled((lines or ["it cannot be installed"])[0])
