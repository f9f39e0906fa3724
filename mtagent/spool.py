"""Folders for copies of standard input and of pipes. They hold people's texts: private, and gone when their process is.

A process locks its folder for as long as it lives. The system lets go of the lock however the process ends, so the next
start finds what a killed one has left behind, and never takes what a living one needs.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mtagent.errors import ConfigError

PREFIX = "mtagent-spool-"
COPY = "input"
LIMIT = "MTAGENT_SPOOL_GIB"
"""The environment variable with the most gibibytes that are copied from one pipe."""

_USUAL_GIB = 4.0


@contextmanager
def spool_folder() -> Iterator[Path]:
    """A fresh folder that only this user can read. It is locked before anything is in it."""
    from filelock import FileLock

    remove_stale()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        with FileLock(folder / "lock"):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_stale() -> None:
    """Remove what processes that are gone have left behind."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another user's, still locked (Timeout is an OSError), or gone by now
            about = folder.lstat()
            own = stat.S_ISDIR(about.st_mode) and (os.name != "posix" or about.st_uid == os.getuid())
            if own and any(folder.glob(f"{COPY}*")):  # without it, there is no text, and perhaps no lock yet
                from filelock import FileLock

                with FileLock(folder / "lock", blocking=False):
                    shutil.rmtree(folder, ignore_errors=True)


def most_bytes() -> int:
    """How much is copied from one pipe at most. Raises :class:`ConfigError`."""
    value = os.environ.get(LIMIT) or str(_USUAL_GIB)
    try:
        size = float(value) * 2**30
        if not 0 < size < float("inf"):
            raise ValueError
    except ValueError:
        raise ConfigError(f"{LIMIT}: {value!r} is not a number of gibibytes; write for example 8") from None
    return int(size)
