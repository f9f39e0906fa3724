"""Processes: ended with all that they started, on POSIX systems and on Windows, and forked."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import subprocess
import weakref
from collections.abc import Iterable
from typing import Any, Protocol

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


# -- forked processes


class Forkable(Protocol):
    """An object with threads, locks or connections, of which none works in a forked process."""

    def begin_in_child(self) -> None:
        """Start again in a forked process, without those of the parent."""


_FORKABLE: weakref.WeakKeyDictionary[Forkable, None] = weakref.WeakKeyDictionary()
_LOADED_BEFORE_FORKS: dict[str, None] = {}  # names of modules, in order


def begin_in_children(part: Forkable) -> None:
    """Call ``part.begin_in_child()`` in each forked process while ``part`` exists, in the order of these calls."""
    _FORKABLE[part] = None


def load_before_forks(modules: Iterable[str]) -> None:
    """Import ``modules`` before each fork, if they aren't loaded.

    If a thread imported one of them during the fork, its lock would stay closed in the child, where that thread doesn't
    exist: the first import of the module would wait for ever.
    """
    _LOADED_BEFORE_FORKS.update(dict.fromkeys(modules))


def _load() -> None:
    for name in _LOADED_BEFORE_FORKS:
        importlib.import_module(name)  # waits for another thread that is importing it


def _begin_in_child() -> None:
    for part in list(_FORKABLE):
        part.begin_in_child()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(before=_load, after_in_child=_begin_in_child)
