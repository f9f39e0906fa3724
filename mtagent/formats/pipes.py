"""Standard input and pipes, which can be read only once: copied, or refused where they would be read again later."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import CHUNK, STANDARD, opened, private, reason_of

PREFIX = "mtagent-spool-"
"""How the names of the folders with copies begin."""

_COPY = "input"
_LIMIT = "MTAGENT_SPOOL_GIB"
"""The environment variable with the most gibibytes that are copied from one pipe."""

_USUAL_GIB = "4"


def refuse_pipe(path: Path, what: str) -> None:
    """Raise :class:`ConfigError` where ``path`` can be read only once; ``what`` says who names it."""
    if path == STANDARD or path.is_fifo():
        raise ConfigError(f"{what} {path}: is read more than once, which a pipe cannot be: give a file")


@contextmanager
def spooled(path: Path) -> Iterator[Path]:
    """A path that can be read twice: a temporary copy of standard input or a pipe, any other path itself.

    The copy lies in a fresh folder that only this user can read, and goes when the block ends. Raises
    :class:`InputError` where it would be longer than the environment variable ``MTAGENT_SPOOL_GIB`` allows.
    """
    if path != STANDARD and (path.is_file() or path.is_dir() or not path.exists()):
        yield path
        return
    from filelock import FileLock

    remove_stale()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        with FileLock(folder / "lock"):  # locked before anything is in it: see remove_stale
            copy = folder / (_COPY if path == STANDARD else _COPY + "".join(path.suffixes))  # it may tell the format
            _copy(path, copy)
            yield copy
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def spooled_copies(named: dict[str, Path]) -> Iterator[dict[str, Path]]:
    """The same paths, with copies of standard input and pipes in their place; an error names what the user knows."""
    if list(named.values()).count(STANDARD) > 1:
        raise InputError("only one of the files can be standard input")
    pipes = [(pipe, path) for path in named.values() if (pipe := _pipe(path))]
    for number, (pipe, path) in enumerate(pipes):
        if pipe in dict(pipes[:number]):
            known = "standard input" if path == STANDARD else path
            raise InputError(f"{known}: is named twice, and a pipe can be read only once: give a file")
    with ExitStack() as stack:
        copies = {name: stack.enter_context(spooled(path)) for name, path in named.items()}
        try:
            yield copies
        except (InputError, ConfigError) as error:
            message = str(error)
            for name, copy in copies.items():
                known = "standard input" if named[name] == STANDARD else str(named[name])
                message = message.replace(str(copy), known)
            error.args = (message,)
            raise


def _pipe(path: Path) -> tuple[int, int] | None:
    """What tells a pipe from others, also under another name; ``None`` for what is none."""
    try:
        status = os.fstat(sys.stdin.fileno()) if path == STANDARD else path.stat()
    except (OSError, ValueError):  # there is no such file, or standard input is none
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISFIFO(status.st_mode) else None


def remove_stale() -> None:
    """Remove the copies of pipes that processes which are gone have left behind."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another user's, still locked (Timeout is an OSError), or gone by now
            about = folder.lstat()
            own = stat.S_ISDIR(about.st_mode) and (os.name != "posix" or about.st_uid == os.getuid())
            if own and any(folder.glob(f"{_COPY}*")):  # without it, there is no text, and perhaps no lock yet
                from filelock import FileLock

                with FileLock(folder / "lock", blocking=False):
                    shutil.rmtree(folder, ignore_errors=True)


def _copy(path: Path, copy: Path) -> None:
    limit = os.environ.get(_LIMIT) or _USUAL_GIB
    try:
        left = int(float(limit) * 2**30)
        if not float(limit) > 0:
            raise ValueError
    except (ValueError, OverflowError):
        raise ConfigError(f"{_LIMIT}: {limit!r} is not a number of gibibytes; write for example 8") from None
    name = "standard input" if path == STANDARD else str(path)
    with opened(path) as source, open(copy, "xb", opener=private) as file:
        while chunk := source.read(CHUNK):
            left -= len(chunk)
            if left < 0:
                raise InputError(
                    f"{name}: is longer than {float(limit):.3g} GiB, the most that is copied from a pipe: give a file, "
                    f"or set {_LIMIT} to more"
                )
            try:
                file.write(chunk)
                file.flush()
            except OSError as error:
                why = f"cannot be copied to {copy.parent.parent}: {reason_of(error)}"
                raise InputError(f"{name}: {why}; give a file, or another folder in TMPDIR") from error
