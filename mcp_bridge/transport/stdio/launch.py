"""How a server process is started: its program, its arguments, its environment.

A server inherits only a documented list of variables, since the bot's own keys are not meant for third-party
programs.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...config.launch_command import command_words, program_stem
from ...config.server_config import ServerConfig
from ...errors import ServerUnavailable
from ...text.cleaning import clean_label
from .windows_shim import is_shim, script_behind, unsafe_argument

# What the official SDK lets a server inherit (mcp.client.stdio.DEFAULT_INHERITED_ENV_VARS).
_SDK_POSIX = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
_SDK_WINDOWS = (
    "APPDATA HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE "
    "SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE COMSPEC PROGRAMFILES PROGRAMDATA"
).split()
# What servers also need: language, folders, certificates, package registries and caches.
_OURS = (
    "LANG TZ TMPDIR SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS "
    "npm_config_registry npm_config_cache UV_INDEX_URL UV_DEFAULT_INDEX UV_CACHE_DIR PIP_INDEX_URL"
).split()
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_INHERITED = frozenset(
    (*(_SDK_WINDOWS if os.name == "nt" else _SDK_POSIX), *_OURS, *_PROXIES, *map(str.lower, _PROXIES))
)
_PREFIXES = ("LC_", "XDG_")
_SECRET = re.compile(r"token|password|passwd|secret|key", re.IGNORECASE)

_INSTALL_HINTS = {
    "npx": "install Node.js",
    "npm": "install Node.js",
    "node": "install Node.js",
    "uvx": "install uv",
    "uv": "install uv",
    "python": 'write command = "${PYTHON}" for the Python that runs the bot',
    "python3": 'write command = "${PYTHON}" for the Python that runs the bot',
    "docker": "install Docker",
}


@dataclass(frozen=True)
class Launch:
    """Everything needed to start a server. `args` are passed unchanged: no shell is involved."""

    program: str
    args: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]


def plan_launch(config: ServerConfig, environ: Mapping[str, str] | None = None) -> Launch:
    """Return how to start a stdio server. Raises `ServerUnavailable` if its program or folder is missing."""
    env = child_environment(config, os.environ if environ is None else environ)
    cwd = config.cwd or os.getcwd()
    if not os.path.isdir(cwd):
        raise ServerUnavailable(
            f"the folder cwd = '{cwd}' does not exist", server=config.name, missing=True, cause="folder"
        )
    program, words = find_program(config.command, env, cwd)
    if program is None:
        hint = _INSTALL_HINTS.get(program_stem(config.command).lower())
        raise ServerUnavailable(
            f"program not found: {clean_label(config.command)}"
            + (f"; {hint}" if hint else "")
            + _space_hint(config.command),
            server=config.name,
            missing=True,
            cause="program",
        )
    args = (*words, *config.args)
    if os.name == "nt" and is_shim(program):
        program, args = _without_cmd(config.name, program, args, env)
    folder, path = os.path.dirname(program), env.get("PATH", os.defpath)
    if folder not in path.split(os.pathsep):  # npx looks for the node beside it on PATH
        env["PATH"] = path + os.pathsep + folder
    return Launch(program, args, cwd, env)


def is_there(launch: Launch) -> bool:
    """Tell whether the program and the folder of an earlier plan still exist."""
    return os.path.isfile(launch.program) and os.path.isdir(launch.cwd)


def _without_cmd(server: str, shim: str, args: tuple[str, ...], env: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Return how to run the script behind a `.cmd` file without cmd.exe, which would interpret the arguments.

    Raises `ServerUnavailable` for unsafe arguments if there is no such script.
    """
    found = script_behind(shim, lambda file: Path(file).read_text("utf-8", "replace"), os.path.exists)
    if found is not None:
        node, script = found
        return shutil.which(node, path=env.get("PATH")) or node, (script, *args)
    if (bad := unsafe_argument(args)) is not None:
        text = f"the argument {bad!r} cannot be passed to {os.path.basename(shim)}: cmd.exe would interpret it"
        raise ServerUnavailable(text, server=server, retry=False, cause="argument")
    return shim, args


def child_environment(config: ServerConfig, environ: Mapping[str, str]) -> dict[str, str]:
    """Return a server's environment: the inherited variables, those of `inherit_env`, then `env`."""
    if config.inherit_env is True:
        env = dict(environ)
    else:
        named = config.inherit_env or ()
        env = {name: value for name, value in environ.items() if _inherited(name) or name in named}
    env.setdefault("PYTHONUTF8", "1")
    # Names are case-insensitive on Windows: of two spellings a program might see either.
    given = {name.upper() for name in config.env} if os.name == "nt" else set()
    return {name: value for name, value in env.items() if name.upper() not in given} | dict(config.env)


def _inherited(name: str) -> bool:
    if name in _INHERITED or (os.name == "nt" and name.upper() in _INHERITED):
        return True
    return name.startswith(_PREFIXES) and not _SECRET.search(name)


def find_program(
    command: str,
    env: Mapping[str, str],
    cwd: str,
    which: Callable[..., str | None] = shutil.which,
) -> tuple[str | None, tuple[str, ...]]:
    """Return the full path of a program, None if it is not found, and the words after it in `command`.

    On Windows `which` also finds `npx.cmd` (PATHEXT). A command line is split as a shell would do it, but only
    if no program has the whole string as its name.
    """
    if found := _locate(command, env, cwd, which):
        return found, ()
    words = command_words(command)
    if len(words) > 1 and (found := _locate(words[0], env, cwd, which)):
        return found, tuple(words[1:])
    return None, ()


def _locate(command: str, env: Mapping[str, str], cwd: str, which: Callable[..., str | None]) -> str | None:
    if os.path.dirname(command):
        return which(os.path.normpath(os.path.join(cwd, command)))
    path = env.get("PATH") or env.get("Path") or os.defpath
    found = which(command, path=path) or which(command, path=os.pathsep.join(_usual_places(env)))
    if found or program_stem(command).lower().startswith("python"):  # there may be many: the owner must choose one
        return found
    own = Path(sys.executable).parent  # where `pip install uv` put `uvx`; seldom on the PATH of a bot
    return which(command, path=os.pathsep.join((str(own), str(own / "Scripts"))))


def same_named(program: str, env: Mapping[str, str]) -> list[str]:
    """Return the other programs of the same name, in the order in which they would be found."""
    folders = [*env.get("PATH", os.defpath).split(os.pathsep), *_usual_places(env)]
    found: dict[str, str] = {os.path.realpath(program): program}  # links to one file are one program
    for folder in folders:
        if folder and (other := shutil.which(os.path.basename(program), path=folder)):
            found.setdefault(os.path.realpath(other), other)
    return list(found.values())[1:]


def _usual_places(env: Mapping[str, str]) -> Iterable[str]:
    """Return folders where nvm, uv, npm, Homebrew and scoop put programs.

    A bot started by a desktop, a service manager or a container does not have them on PATH.
    """
    home = Path(env.get("HOME") or env.get("USERPROFILE") or os.path.expanduser("~"))
    yield from map(str, sorted(home.glob(".nvm/versions/node/*/bin"), reverse=True))
    for place in (".local/bin", ".cargo/bin", ".npm-global/bin", ".bun/bin", ".volta/bin", "scoop/shims"):
        yield str(home / place)
    if appdata := env.get("APPDATA"):
        yield str(Path(appdata, "npm"))
    if program_files := env.get("PROGRAMFILES"):
        yield str(Path(program_files, "nodejs"))
    if sys.platform != "win32":
        yield from ("/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/local/bin", "/snap/bin")


def _space_hint(command: str) -> str:
    return "; move the words after the program to args" if " " in command else ""
