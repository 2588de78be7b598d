"""Boot the real MaiBot around a copy of the plugin folder.

`RealHost` makes a scratch instance, installs the plugin in it as an owner would
(copy the folder, edit its config.toml) and runs MaiBot's plugin runtime there in
a process of its own (see driver.py). Every wait is bounded by a constant below.
"""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

from . import processes
from .driver_wire import DriverWire, HostError
from .instance import PLUGIN_ID, clean_environment, folder_listing, install_plugin, without_ansi
from .offered_tool import OfferedTool
from .processes import wait_for

START_SECONDS = 180.0
"""Import and start of the plugin runtime; about 6 s when the machine is idle."""

LISTED_SECONDS = 60.0
"""Servers start and their tools reach the host; 2 or 3 s when the machine is idle."""

STOP_SECONDS = 45.0
"""Orderly stop of the runtime, which gives its runners 5 s and more each."""

GRACE_SECONDS = 10.0
"""What a stopped bot's processes get before `stop` counts them as left over."""

LOG_TAIL_LINES = 120


class RealHost:
    """One MaiBot with the plugin in it; use it in a ``with`` statement."""

    running: ClassVar[list[RealHost]] = []
    """The hosts not stopped yet: their logs are shown when a test fails."""

    def __init__(self, instance: Path, config: str | None) -> None:
        """Install the plugin in the blank `instance`, or nothing when `config` is None.

        `pristine` keeps what the plugin's folder holds before anything runs.
        """
        self.instance = instance
        self.plugin = instance / "plugins" / PLUGIN_ID
        if config is not None:
            install_plugin(instance, config)
        self.pristine = folder_listing(self.plugin)
        self.import_seconds = 0.0
        self.startup_seconds = 0.0
        self._log = instance.parent / f"{instance.name}.log"
        self._log.touch()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> RealHost:
        """Start the host; `startup_seconds` is the time MaiBot itself waited for its plugins."""
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the host and everything it started."""
        self.stop()

    def start(self) -> None:
        """Start the process and the plugin runtime in it; after `stop` this is a restart."""
        ours, theirs = socket.socketpair()
        with theirs, self._log.open("ab") as log:
            self._process = subprocess.Popen(
                # -P: the folder of driver.py must not be importable by the bot.
                [sys.executable, "-P", str(Path(__file__).with_name("driver.py")), str(theirs.fileno())],
                cwd=self.instance,
                env=clean_environment(self.instance) | {"MAIBOT_WORKER_PROCESS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._wire = DriverWire(ours, self.log_tail)
        RealHost.running.append(self)
        seconds = self._wire.command("start", START_SECONDS)
        self.import_seconds, self.startup_seconds = seconds["import"], seconds["start"]

    def stop(self) -> list[str]:
        """Stop the host in the orderly way, then kill what is left; return the command lines of that."""
        process, self._process = self._process, None
        if process is None:
            return []
        try:
            if process.poll() is None:
                self._wire.hang_up()
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
            process.wait(GRACE_SECONDS)
            wait_for(lambda: not processes.of_folder(self.instance), GRACE_SECONDS)
            return [processes.command_line(pid) for pid in processes.of_folder(self.instance)]
        finally:
            if process.poll() is None:
                process.kill()
            processes.kill_all(lambda: processes.of_folder(self.instance))
            process.wait(GRACE_SECONDS)
            self._wire.close()
            RealHost.running.remove(self)

    # What the bot does with its plugins

    def tools(self, **context: object) -> dict[str, OfferedTool]:
        """Return the tools the model is offered, by name, in the chat that `context` describes.

        Keys: platform, group_id, user_id, is_group_chat, session_id, stream_id; none means no
        particular chat.
        """
        listed = self._wire.command("tools", context=context or None)
        offered = [OfferedTool(**tool) for tool in listed]
        return {tool.name: tool for tool in offered}

    def wait_for_tools(
        self, *names: str, without: Sequence[str] = (), seconds: float = LISTED_SECONDS, **context: object
    ) -> None:
        """Wait until all of `names` and none of `without` are offered; raise HostError after `seconds`.

        To wait only for tools to go would not do: while the host reloads a plugin, all its tools are gone.
        """
        listed: set[str] = set()

        def are_as_wanted() -> bool:
            listed.clear()
            listed.update(self.tools(**context))
            return listed >= set(names) and listed.isdisjoint(without)

        if not wait_for(are_as_wanted, seconds):
            raise HostError(f"after {seconds} s the tools are {sorted(listed)}\n{self.log_tail()}")

    def call(self, name: str, arguments: Mapping[str, object] | None = None, /, **context: object) -> dict[str, Any]:
        """Call a tool; return all fields of the host's result, and what the model reads as ``history``.

        `context` describes the chat: platform, user_id, group_id, session_id, stream_id, is_group_chat.
        """
        return dict(self._wire.command("call", name=name, arguments=dict(arguments or {}), context=context))

    def call_together(self, name: str, arguments: Sequence[Mapping[str, object]]) -> list[dict[str, Any]]:
        """Call a tool several times at once; return the results in the order of `arguments`."""
        with ThreadPoolExecutor(len(arguments)) as pool:
            return list(pool.map(lambda given: self.call(name, given), arguments))

    def write(self, text: str, user: str = "1", group: str = "123456", stream: str = "a-stream") -> bool:
        """Have a user of QQ write a message; tell whether a command took it."""
        who: dict[str, Any] = {"platform": "qq", "user_id": user, "group_id": group, "stream_id": stream}
        return bool(self._wire.command("write", text=text, **who))

    def heard(self, kind: str = "text") -> list[str]:
        """Return what the plugin has said in chats (`text`, `image`, `custom`)."""
        return [one["content"] for one in self._wire.command("heard") if one["kind"] == kind]

    def ask(self, text: str, user: str, words: str, seconds: float = LISTED_SECONDS) -> str:
        """Write a command again and again until an answer has these words; return that answer."""
        found: list[str] = []

        def is_said() -> bool:
            before = len(self.heard())
            self.write(text, user=user)
            wait_for(lambda: len(self.heard()) > before, 2.0)
            found[:] = [answer for answer in self.heard()[before:] if words in answer]
            return bool(found)

        if not wait_for(is_said, seconds):
            raise HostError(f"after {seconds} s only this was said: {self.heard()}\n{self.log_tail()}")
        return found[0]

    def wait_to_hear(self, words: str, seconds: float = LISTED_SECONDS) -> str:
        """Return the first thing said that has these words."""
        found: list[str] = []

        def is_said() -> bool:
            found[:] = [text for text in self.heard() if words in text]
            return bool(found)

        if not wait_for(is_said, seconds):
            raise HostError(f"after {seconds} s only this was said: {self.heard()}\n{self.log_tail()}")
        return found[0]

    def page(self, api: str = "", **arguments: object) -> Any:
        """Call an API of the plugin's page in the web UI; without a name, return the page itself."""
        return self._wire.command("page", api=api, arguments=arguments)

    def status(self) -> str:
        """Return what the host says of the plugin: success, failed, inactive, ..."""
        return str(self._wire.command("statuses")["statuses"].get(PLUGIN_ID, "unknown"))

    def write_config(self, text: str) -> None:
        """Save another config.toml, as an owner with an editor would; the host watches the file."""
        (self.plugin / "config.toml").write_text(text, encoding="utf-8")

    def check_health_every(self, seconds: float) -> None:
        """Have the host look after its runners this often, not every 30 s, from its next start on."""
        path = self.instance / "config" / "bot_config.toml"
        setting = "health_check_interval_sec = "
        before = path.read_text(encoding="utf-8")
        text, found = re.subn(f"^{setting}[0-9.]+", f"{setting}{seconds}", before, flags=re.MULTILINE)
        assert found == 1
        path.write_text(text, encoding="utf-8")

    def unload(self) -> None:
        """Unload the plugin."""
        answer = self._wire.command("unload", plugin=PLUGIN_ID)
        if not answer["success"]:
            raise HostError(f"{answer}\n{self.log_tail()}")

    def reload(self) -> None:
        """Load the plugin again."""
        if not self._wire.command("reload", plugin=PLUGIN_ID):
            raise HostError(f"the host could not reload the plugin\n{self.log_tail()}")

    # What the owner of the bot sees

    def logs(self) -> str:
        """Return everything logged so far, without colours."""
        return without_ansi(self._log.read_text(encoding="utf-8", errors="replace"))

    def log_tail(self) -> str:
        """Return the end of the log."""
        return "\n".join(self.logs().splitlines()[-LOG_TAIL_LINES:])

    def generations(self) -> int:
        """Count how often the plugin was registered: 1, and one more for each reload.

        Only the debug log in the instance tells. The runner writes the line there itself, and the
        host once more with the module ``<runner>``: only that one counts.
        """
        event = f"插件 {PLUGIN_ID} 注册完成"
        lines = [
            json.loads(line)
            for file in (self.instance / "logs").glob("*.jsonl")
            for line in file.read_text(encoding="utf-8").splitlines()
            if event in line
        ]
        return sum(line["event"] == event and line["module"] == "<runner>" for line in lines)

    # The processes

    def descendants(self) -> list[int]:
        """Return the processes below the host."""
        return processes.descendants(self._pid)

    def runner_pids(self, group: str = "third_party") -> list[int]:
        """Return the processes that run plugins of a group; MaiBot has one for its own, one for others."""
        return [
            pid
            for pid in self.descendants()
            if processes.environment(pid).get("MAIBOT_RUNNER_GROUP") == group
            and "runner_main" in processes.command_line(pid)
        ]

    def kill_runner(self, number: signal.Signals) -> None:
        """Send a signal to the process that runs the plugin."""
        processes.send(self.runner_pids(), number)

    def kill_host(self) -> None:
        """Kill the host itself with SIGKILL: what it started must end by itself."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(GRACE_SECONDS)

    @property
    def _pid(self) -> int:
        assert self._process is not None, "the host is not running"
        return self._process.pid
