"""Text files, exactly: UTF-8 only, lines that end at ``\\n`` only, and output that is never half-written."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from mtagent.errors import ConfigError, InputError, OutputError

STANDARD = Path("-")
"""The path that stands for standard input or output."""

BOM = "\ufeff"
PREFIX = "mtagent-spool-"
"""How the folders with copies of pipes are called."""

_COPY = "input"
_LIMIT = "MTAGENT_SPOOL_GIB"
"""The environment variable with the most gibibytes that are copied from one pipe."""

_USUAL_GIB = "4"
_CHUNK = 2**20


class Line(NamedTuple):
    """A line of a file: its number from 1, its text, and how it ends (``\\n``, ``\\r\\n``, or nothing at all)."""

    number: int
    text: str
    end: str


def lines_of(path: Path) -> Iterator[Line]:
    """Yield the lines of a UTF-8 file, without its byte order mark.

    Only ``\\n`` and ``\\r\\n`` end a line: U+2028, U+0085, form feeds and single ``\\r`` are text. Raises
    :class:`InputError` for other encodings, lone surrogates and NUL.
    """
    with _opened(path) as file:
        for number, raw in enumerate(file, start=1):
            if number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise InputError(f"{path}:1: is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8")
            try:
                text = raw.decode()
            except UnicodeDecodeError as error:
                raise InputError(f"{path}:{number}:{error.start + 1}: {_undecodable(raw, error.start)}") from error
            if "\0" in text:
                place = raw.index(b"\0") + 1
                raise InputError(f"{path}:{number}:{place}: a NUL byte; text has none (is it UTF-16, or not text?)")
            if number == 1:
                text = text.removeprefix(BOM)
            end = "\r\n" if text.endswith("\r\n") else "\n" if text.endswith("\n") else ""
            yield Line(number, text.removesuffix(end), end)


def _undecodable(raw: bytes, start: int) -> str:
    if raw[start] == 0xED and b"\xa0" <= raw[start + 1 : start + 2] <= b"\xbf":
        return "a lone surrogate, which UTF-8 does not allow; correct the program that wrote it"
    return f"byte 0x{raw[start]:02X} is not UTF-8; convert the file first, e.g. iconv -f WINDOWS-1252 -t UTF-8"


def count_lines(path: Path) -> int:
    """The number of lines of a file. Raises :class:`InputError` as :func:`lines_of` does.

    It decodes them, because the bytes of another encoding have line feeds in other places.
    """
    return sum(1 for _ in lines_of(path))


def byte_order_mark(path: Path) -> str:
    """The byte order mark that a file begins with, or ``""``."""
    if path == STANDARD:
        raise InputError("standard input cannot be read a second time; write without 'like', or read from a file")
    with _opened(path) as file:
        return BOM if file.read(3) == BOM.encode() else ""


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes; what goes wrong while they are read is an :class:`InputError` too."""
    try:
        with nullcontext(sys.stdin.buffer) if path == STANDARD else path.open("rb") as file:
            yield file
    except OSError as error:
        raise InputError(f"{path}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    return (error.strerror or str(error) or type(error).__name__).lower()


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
    value = os.environ.get(_LIMIT) or _USUAL_GIB
    try:
        left = int(float(value) * 2**30)
        if not float(value) > 0:
            raise ValueError
    except (ValueError, OverflowError):
        raise ConfigError(f"{_LIMIT}: {value!r} is not a number of gibibytes; write for example 8") from None
    name = "standard input" if path == STANDARD else str(path)
    with _opened(path) as source, open(copy, "xb", opener=_private) as file:
        while chunk := source.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                raise InputError(
                    f"{name}: is longer than {float(value):.3g} GiB, the most that is copied from a pipe: give a file, "
                    f"or set {_LIMIT} to more"
                )
            try:
                file.write(chunk)
                file.flush()
            except OSError as error:
                folder = copy.parent.parent
                raise InputError(
                    f"{name}: cannot be copied to {folder}: {_reason(error)}; give a file, or another folder in TMPDIR"
                ) from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Sink:
    """A file that is being written. Failures are raised as :class:`OutputError`, under the name of the final file."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self._file = file

    def write(self, text: str) -> None:
        """Write ``text`` as UTF-8."""
        try:
            encoded = text.encode()
        except UnicodeEncodeError as error:
            code = ord(text[error.start])
            raise OutputError(f"{self.path}: the lone surrogate U+{code:04X} cannot be written as UTF-8") from error
        with _reported(self.path):
            self._file.write(encoded)


@contextmanager
def replacing(path: Path) -> Iterator[Sink]:
    """Write to a temporary file beside ``path``, which takes its place when the block ends without an error.

    Standard output, pipes and devices cannot be replaced: they are written to directly. A symbolic link stays one.
    """
    if path == STANDARD:
        yield Sink(path, sys.stdout.buffer)
        with _reported(path):
            sys.stdout.buffer.flush()
        return
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; name a file in it")
    target = Path(os.path.realpath(path))
    direct = path.exists() and not path.is_file()
    written = path if direct else target.with_name(f".mtagent-{secrets.token_hex(6)}.tmp")
    with _reported(path):  # in the place of a private file nobody else may look in meanwhile
        file = path.open("wb") if direct else open(written, "xb", opener=_private if target.exists() else None)  # noqa: SIM115
    try:
        yield Sink(path, file)
        with _reported(path):
            file.flush()
            if not direct:
                os.fsync(file.fileno())
                file.close()
                _settle(written, target)
    finally:
        with suppress(OSError):  # closing repeats the failed write; the first error is the one to report
            file.close()
        if not direct:
            with suppress(OSError):
                written.unlink(missing_ok=True)


def _settle(temporary: Path, target: Path) -> None:
    """Put a complete file in the place of the old one, also on the disk."""
    if target.exists():
        shutil.copymode(target, temporary)
    temporary.replace(target)
    if os.name == "posix":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if path == STANDARD and isinstance(error, BrokenPipeError):
            raise  # whoever reads has enough, as in `| head`: the command line ends without a word
        raise OutputError(f"{path}: cannot be written: {_reason(error)}") from error
