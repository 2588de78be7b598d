"""The tree of a server's process and everything that it has started, which can be ended as a whole.

POSIX: a process group of its own (the server is started as a session leader). Windows: a job object, whose
processes end when its handle closes, even if our own process is killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import Any, Protocol


class ProcessTree(Protocol):
    """A server and its helpers."""

    def interrupt(self) -> None:
        """Ask all processes to exit."""

    def kill(self) -> None:
        """Kill all processes."""

    def empty(self) -> bool:
        """Tell whether no process is left."""

    def close(self) -> None:
        """Release the handles of the tree itself."""


class ProcessGroup:
    """POSIX: the process group of a session leader. Never our own group."""

    def __init__(self, leader: int) -> None:
        self._group = leader

    def interrupt(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def empty(self) -> bool:
        return not self._signal(0)

    def close(self) -> None:
        pass

    def _signal(self, number: int) -> bool:
        # ProcessLookupError: no process is left. PermissionError (macOS): only zombies are left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._group, number)
            return True
        return False


class Job:
    """Windows: a job object. `win32` modules come with the SDK there (pywin32)."""

    def __init__(self, pid: int, modules: Any = None) -> None:
        self._api = modules or _Win32()
        self._pid = pid
        self._handle: Any = self._api.job.CreateJobObject(None, "")
        limits = self._api.job.QueryInformationJobObject(self._handle, self._api.job.JobObjectExtendedLimitInformation)
        limits["BasicLimitInformation"]["LimitFlags"] |= self._api.job.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
        self._api.job.SetInformationJobObject(self._handle, self._api.job.JobObjectExtendedLimitInformation, limits)
        access = self._api.con.PROCESS_SET_QUOTA | self._api.con.PROCESS_TERMINATE
        process = self._api.api.OpenProcess(access, False, pid)
        try:
            self._api.job.AssignProcessToJobObject(self._handle, process)
        finally:
            self._api.api.CloseHandle(process)

    def interrupt(self) -> None:
        # The server leads a process group of its own (CREATE_NEW_PROCESS_GROUP).
        with contextlib.suppress(OSError):
            os.kill(self._pid, getattr(signal, "CTRL_BREAK_EVENT", signal.SIGTERM))

    def kill(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(self._api.error):
                self._api.job.TerminateJobObject(self._handle, 1)

    def empty(self) -> bool:
        if self._handle is None:
            return True
        counters = self._api.job.QueryInformationJobObject(
            self._handle, self._api.job.JobObjectBasicAccountingInformation
        )
        return bool(counters["ActiveProcesses"] == 0)

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            self._api.api.CloseHandle(handle)


class _Win32:
    """The modules of pywin32 that a `Job` uses, imported only on Windows."""

    def __init__(self) -> None:
        import pywintypes
        import win32api
        import win32con
        import win32job

        self.api, self.con, self.job, self.error = win32api, win32con, win32job, pywintypes.error


def new_group() -> dict[str, Any]:
    """Return the `subprocess` arguments for a process that heads a tree of its own and opens no window."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def process_tree(pid: int) -> ProcessTree:
    """Return the tree of a process that was started with `new_group`."""
    return Job(pid) if sys.platform == "win32" else ProcessGroup(pid)
