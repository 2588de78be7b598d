"""An instance of MaiBot with a copy of the plugin folder in it, made as an owner makes it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PLUGIN_ID = "mcp-bridge"

INIT_SECONDS = 120.0
"""`maibot init`; about 3 s when the machine is idle."""

LEFT_OUT = (
    ".git", ".venv*", "venv", "tests", "build", "dist", "*.egg-info",
    "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".coverage*",
)  # fmt: skip
"""What an owner does not have in the folder he copies."""

NOT_INHERITED = ("PYTEST_", "PYTHON", "MCP_BRIDGE_", "MAIBOT_", "XDG_", "COV_")
"""Beginnings of the environment variables of a test run that would change what the bot does."""

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_=>]")


def plugin_source() -> Path:
    """Return the plugin folder under test: MCP_BRIDGE_PLUGIN_DIR, or the repository this file is in."""
    given = os.environ.get("MCP_BRIDGE_PLUGIN_DIR")
    return Path(given).resolve() if given else Path(__file__).resolve().parents[2]


def without_ansi(text: str) -> str:
    """Remove colours and cursor movements."""
    return _ANSI.sub("", text)


def server_table(name: str, command: str, args: Sequence[str] = (), **keys: object) -> str:
    """Render one ``[mcp.servers.NAME]`` table of config.toml; JSON's scalars and arrays are TOML too."""
    lines = [f"[mcp.servers.{name}]", f"command = {json.dumps(command)}", f"args = {json.dumps(list(args))}"]
    for key, value in keys.items():
        if isinstance(value, dict):
            lines += [f"{key}.{inner} = {json.dumps(one)}" for inner, one in value.items()]
        else:
            lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def folder_listing(folder: Path) -> dict[str, bytes]:
    """Map every file below a folder to its content, Python's own caches left out."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def clean_environment(instance: Path) -> dict[str, str]:
    """Return an environment for a bot in `instance` that shares no home, cache or setting with the tests."""
    home = instance.parent / f"{instance.name}-home"
    home.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
    return kept | {
        "HOME": str(home),
        "MAIBOT_INSTANCE_DIR": str(instance),
        "PYTHONUTF8": "1",
        "PYTHONUNBUFFERED": "1",
        "COLUMNS": "200",
    }


def make_instance(folder: Path) -> Path:
    """Make a MaiBot instance with `maibot init`, as the documentation of MaiBot tells its users to."""
    subprocess.run(
        [sys.executable, "-m", "src.cli.tool", "init", "-d", str(folder)],
        check=True,
        cwd=folder.parent,
        env=clean_environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=INIT_SECONDS,
    )
    return folder


def install_plugin(instance: Path, config: str) -> Path:
    """Copy the plugin under test into `instance`, give it a config.toml, and return its folder there."""
    folder = instance / "plugins" / PLUGIN_ID
    shutil.copytree(plugin_source(), folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (folder / "config.toml").write_text(config, encoding="utf-8")
    return folder
