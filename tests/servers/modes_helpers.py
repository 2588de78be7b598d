"""A mode that starts helpers in great number, each in a session of its own."""

from __future__ import annotations

from base import NUMBER, Server, mode, text, tool
from modes_process import helper_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from base import Request
    from wire import Message


@mode("many_helpers")
class ManyHelpers(Server):
    """Tool `spawn` starts `count` helpers that leave the group, close all pipes and ignore SIGTERM."""

    stdio_only = True
    extra = (tool("spawn", "Start helpers.", {"count": NUMBER}, "count"),)

    def tool_spawn(self, request: Request, arguments: Message) -> Message:
        import subprocess

        null = subprocess.DEVNULL
        command = helper_command(self.number("seconds", 600), (1, 2, 15))
        for _ in range(int(arguments["count"])):
            helper = subprocess.Popen(command, stdin=null, stdout=null, stderr=null, start_new_session=True)
            self.log("child", pid=helper.pid)
        return text("started")
