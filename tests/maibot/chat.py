"""Run the whole bot on a terminal and chat with it, as its owner can.

The bot's model is a `scripted_llm.ScriptedLLM`. What would reach the network or
open a port is switched off in the configuration that `maibot init` made.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
from importlib.metadata import distribution
from pathlib import Path
from typing import ClassVar

from . import processes
from .instance import clean_environment, install_plugin, without_ansi
from .processes import wait_for

READY_TEXT = "MaiBot 管理终端"
"""The banner above the prompt: from then on the bot reads what is typed."""

READY_SECONDS = 240.0
"""Start of the whole bot; about 12 s when the machine is idle."""

REPLY_SECONDS = 120.0
"""From a message to the bot's answer; a few seconds when the machine is idle."""

STOP_SECONDS = 90.0
"""Orderly stop of the bot, which gives its own worker 60 s."""

GRACE_SECONDS = 10.0
"""What a process gets to end after SIGKILL, and a thread after its terminal is gone."""

SCREEN_TAIL_LINES = 200

ROWS, COLUMNS = 60, 160
"""Size of the terminal, in characters; wide enough that no answer wraps."""

AGREEMENTS = {"EULA.md": "eula.confirmed", "PRIVACY.md": "privacy.confirmed"}
"""The texts MaiBot asks its owner to accept, and where it notes that."""


def accept_agreements(instance: Path) -> None:
    """Note the agreements as accepted, which the bot asks for at its first start."""
    for text, note in AGREEMENTS.items():
        agreement = Path(str(distribution("maibot").locate_file(f"src/_resources/{text}")))
        content = agreement.read_text(encoding="utf-8")
        (instance / note).write_text(hashlib.md5(content.encode()).hexdigest(), encoding="utf-8")


def configure(instance: Path, base_url: str, webui_port: int | None = None) -> None:
    """Point every model at `base_url` and switch off what needs the network, a port or chance.

    The web UI is on only if it is given a port.
    """
    import tomlkit  # Comes with MaiBot; without it the tests are skipped, not broken.

    path = instance / "config" / "bot_config.toml"
    bot = tomlkit.parse(path.read_text(encoding="utf-8"))
    for section, key, value in (
        ("telemetry", "enable", False),
        ("webui", "enabled", webui_port is not None),
        ("webui", "port", webui_port or 8001),
        ("maim_message", "enabled", False),
        ("debug", "enable_console_input", True),
        ("chinese_typo", "enable", False),
        ("response_splitter", "enable", False),
        ("response_post_process", "typing_speed", 0.0),
        ("mcp", "enable", False),
    ):
        bot[section][key] = value
    bot["chat"]["reply_timing"]["message_debounce_mode"] = "off"
    path.write_text(tomlkit.dumps(bot), encoding="utf-8")

    path = instance / "config" / "model_config.toml"
    models = tomlkit.parse(path.read_text(encoding="utf-8"))
    for provider in models["api_providers"]:
        provider["base_url"] = base_url
        provider["api_key"] = "scripted"
    path.write_text(tomlkit.dumps(models), encoding="utf-8")


class RealChat:
    """One whole MaiBot on a terminal; use it in a ``with`` statement."""

    running: ClassVar[list[RealChat]] = []
    """The bots not stopped yet: their screens are shown when a test fails."""

    def __init__(self, instance: Path, config: str, base_url: str, *, webui_port: int | None = None) -> None:
        """Prepare the blank `instance`: plugin with `config`, models at `base_url`."""
        self.instance = instance
        install_plugin(instance, config)
        configure(instance, base_url, webui_port)
        accept_agreements(instance)
        self._shown = bytearray()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> RealChat:
        """Start the bot and wait until it reads what is typed."""
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the bot and everything it started."""
        self.stop()

    def start(self) -> None:
        """Run ``maibot run`` on a new terminal."""
        self._terminal, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environment = clean_environment(self.instance) | {
            "TERM": "xterm-256color",
            "COLUMNS": str(COLUMNS),
            "PROMPT_TOOLKIT_NO_CPR": "1",  # Nobody answers when it asks where the cursor is.
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "src.cli.tool", "run", "-d", str(self.instance)],
            cwd=self.instance,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read_terminal, name="maibot-terminal", daemon=True)
        self._reader.start()
        RealChat.running.append(self)
        self.wait_for_text(READY_TEXT, READY_SECONDS)

    def stop(self) -> None:
        """Ask the bot to end, as Ctrl+C does, then kill what is left."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.send_signal(signal.SIGINT)
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
        finally:
            processes.kill_all(lambda: processes.of_folder(self.instance))
            process.wait(GRACE_SECONDS)
            self._reader.join(GRACE_SECONDS)
            os.close(self._terminal)
            RealChat.running.remove(self)

    def type(self, line: str) -> int:
        """Type a line and Enter; return the length of the screen's text before, for `wait_for_text`."""
        before = len(self.screen())
        os.write(self._terminal, line.encode() + b"\r")
        return before

    def screen(self) -> str:
        """Return everything shown so far, without colours and cursor movements."""
        return without_ansi(self._shown.decode("utf-8", errors="replace"))

    def screen_tail(self) -> str:
        """Return the end of what was shown."""
        return "\n".join(self.screen().splitlines()[-SCREEN_TAIL_LINES:])

    def wait_for_text(self, text: str, seconds: float = REPLY_SECONDS, after: int = 0) -> str:
        """Return what is shown after the first `after` characters as soon as that holds `text`.

        Raises RuntimeError with the screen when it does not within `seconds`, or when the bot ends.
        """
        assert self._process is not None, "the bot is not running"
        running = self._process
        wait_for(lambda: text in self.screen()[after:] or running.poll() is not None, seconds)
        shown = self.screen()[after:]
        if text not in shown:
            code = running.poll()
            why = f"{seconds} s have passed" if code is None else f"the bot has ended with {code}"
            raise RuntimeError(f"{text!r} is not shown, and {why}\n{shown}")
        return shown

    def _read_terminal(self) -> None:
        """Keep the terminal drained, or the bot would block on printing."""
        while True:
            try:
                shown = os.read(self._terminal, 65536)
            except OSError as error:
                if error.errno == errno.EIO:  # Linux: the last process on the terminal has closed it.
                    return
                raise
            if not shown:
                return
            self._shown += shown
