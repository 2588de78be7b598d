"""What only Windows does, by its documented behaviour, with fakes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge.transport.stdio.launch import Launch
from mcp_bridge.transport.stdio.process import start_by_loop
from mcp_bridge.transport.stdio.tree import Job
from mcp_bridge.transport.stdio.windows_shim import is_shim, script_behind, unsafe_argument
from tests.support.places import ODD_SERVER
from tests.support.waiting import GENEROUS

NODE = "C:\\Program Files\\nodejs"
SHIM = """@ECHO off
CALL :find_dp0
IF EXIST "%dp0%\\node.exe" ( SET "_prog=%dp0%\\node.exe" ) ELSE ( SET "_prog=node" )
"%_prog%"  "%dp0%\\node_modules\\mcp-server\\dist\\index.js" %*
"""


def missing(file: str) -> str:
    raise OSError(file)


def test_npx_is_started_without_the_command_interpreter() -> None:
    script = f"{NODE}\\node_modules\\npm\\bin\\npx-cli.js"
    files = {f"{NODE}\\node.exe", script}
    assert is_shim(f"{NODE}\\npx.CMD")
    assert script_behind(f"{NODE}\\npx.cmd", missing, files.__contains__) == (f"{NODE}\\node.exe", script)


def test_an_installed_server_is_started_without_the_command_interpreter() -> None:
    folder = "C:\\Users\\me\\AppData\\Roaming\\npm"
    script = f"{folder}\\node_modules\\mcp-server\\dist\\index.js"
    shim = f"{folder}\\mcp-server.cmd"
    assert script_behind(shim, lambda file: SHIM, {script}.__contains__) == ("node", script)
    assert script_behind(shim, lambda file: SHIM, lambda file: False) is None
    assert script_behind(shim, missing, lambda file: False) is None


@pytest.mark.parametrize("argument", ["a & calc.exe", "%PATH%", 'say "x"', "a|b", "a^b", "a\nb"])
def test_an_argument_that_the_command_interpreter_would_act_upon_is_refused(argument: str) -> None:
    assert unsafe_argument(["-y", "C:\\a b\\c", "$(id)", argument]) == argument
    assert unsafe_argument(["-y", "C:\\a b\\c", "$(id)", "it's"]) is None


class FakeWin32:
    """Stands for pywin32 and records what is asked of it."""

    error = OSError

    class con:
        PROCESS_SET_QUOTA, PROCESS_TERMINATE = 0x100, 1

    JobObjectExtendedLimitInformation, JobObjectBasicAccountingInformation = 9, 1
    JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE = 0x2000

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.active = 2
        self.api = self.job = self

    def CreateJobObject(self, attributes: Any, name: str) -> str:
        return "job"

    def QueryInformationJobObject(self, job: str, kind: int) -> dict[str, Any]:
        return {"BasicLimitInformation": {"LimitFlags": 0}, "ActiveProcesses": self.active}

    def SetInformationJobObject(self, job: str, kind: int, limits: dict[str, Any]) -> None:
        self.calls.append(("limits", limits["BasicLimitInformation"]["LimitFlags"]))

    def OpenProcess(self, access: int, inherit: bool, pid: int) -> str:
        return f"process {pid}"

    def AssignProcessToJobObject(self, job: str, process: str) -> None:
        self.calls.append(("assign", process))

    def TerminateJobObject(self, job: str, status: int) -> None:
        self.calls.append(("terminate", job))
        self.active = 0

    def CloseHandle(self, handle: str) -> None:
        self.calls.append(("close", handle))


def test_a_server_and_its_helpers_are_one_job_that_ends_with_us() -> None:
    win32 = FakeWin32()
    job = Job(4711, win32)
    assert ("limits", 0x2000) in win32.calls
    assert ("assign", "process 4711") in win32.calls
    assert not job.empty()
    job.kill()
    assert job.empty()
    job.close()
    job.close()
    assert win32.calls.count(("close", "job")) == 1


@pytest.mark.process
async def test_a_server_started_by_the_loop_is_read_written_and_ended_without_a_sound(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    launch = Launch(sys.executable, (str(ODD_SERVER), "normal"), str(tmp_path), {"PATH": "/usr/bin:/bin"})
    running = await start_by_loop(launch)
    await running.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert b'"id"' in await asyncio.wait_for(running.read(), GENEROUS)
    await running.stop()
    assert running.returncode == 0
    assert await running.read() == b""
    assert caplog.text == ""
