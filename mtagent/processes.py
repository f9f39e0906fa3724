"""Processes that are ended with all that they started, on POSIX systems and on Windows."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import Any

IS_POSIX = os.name == "posix"
OF_A_GROUP: dict[str, Any] = {"start_new_session": True}
if not IS_POSIX:
    OF_A_GROUP = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
"""The arguments that start a process as the first of a group."""


def end_group(number: int) -> None:
    """Kill the process with this number, which was started with :data:`OF_A_GROUP`, and all that it started."""
    if IS_POSIX:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(number, signal.SIGKILL)
    else:
        subprocess.run(["taskkill", "/T", "/F", "/PID", str(number)], capture_output=True, check=False)


def in_shell(command: str) -> list[str]:
    """The words that run ``command`` in the system's shell."""
    if IS_POSIX:
        return ["/bin/sh", "-c", command]
    return [os.environ.get("COMSPEC", "cmd.exe"), "/c", command]


def was_killed(code: int) -> bool:
    """Whether an exit code means that the system killed the process, as it does when memory runs out."""
    return IS_POSIX and code == -signal.SIGKILL
