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


STANDARD = Path("-")
"""The path that stands for standard input or output."""

BOM = "\ufeff"
_CHUNK = 2**20
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


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
            yield _decoded(path, number, raw)


def count_lines(path: Path) -> int:
    """The number of lines of a file. Raises :class:`InputError` as :func:`lines_of` does.

    It decodes them, because the bytes of another encoding have line feeds in other places.
    """
    return sum(1 for _ in lines_of(path))


def has_bom(path: Path) -> bool:
    """Whether a file begins with the UTF-8 byte order mark."""
    if path == STANDARD:
        raise InputError("standard input cannot be read a second time; write without 'like', or read from a file")
    with _opened(path) as file:
        return file.read(3) == BOM.encode()


@contextmanager
def spooled(path: Path) -> Iterator[Path]:
    """A path that can be read twice: a temporary copy of standard input or a pipe, any other path itself.

    The copy is private and goes when the block ends; see :mod:`mtagent.formats.files`.
    """
    if path != STANDARD and (path.is_file() or path.is_dir() or not path.exists()):
        yield path
        return
    with spool_folder() as folder:
        copy = folder / (COPY if path == STANDARD else COPY + "".join(path.suffixes))  # the ending may tell the format
        _copy(path, copy)
        yield copy


def refuse_pipe(path: Path, what: str) -> None:
    """Raise :class:`ConfigError` where ``path`` can be read only once; ``what`` says who names it."""
    if path == STANDARD or path.is_fifo():
        raise ConfigError(f"{what} {path}: is read more than once, which a pipe cannot be: give a file")


def _copy(path: Path, copy: Path) -> None:
    name = "standard input" if path == STANDARD else str(path)
    left = most = most_bytes()
    with _opened(path) as source, open(copy, "xb", opener=_private) as file:
        while chunk := source.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                raise InputError(
                    f"{name}: is longer than {most / 2**30:.3g} GiB, the most that is copied from a pipe: give a file, "
                    f"or set {LIMIT} to more"
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
        with _direct(path, sys.stdout.buffer) as sink:
            yield sink
    elif path.is_dir():
        raise OutputError(f"{path}: is a folder; name a file in it")
    elif path.exists() and not path.is_file():
        with _device(path) as sink:
            yield sink
    else:
        with _beside(path) as sink:
            yield sink


@contextmanager
def _direct(path: Path, file: BinaryIO) -> Iterator[Sink]:
    yield Sink(path, file)
    with _reported(path):
        file.flush()


@contextmanager
def _device(path: Path) -> Iterator[Sink]:
    with _reported(path):
        file = path.open("wb")
    try:
        with _direct(path, file) as sink:
            yield sink
    finally:
        with suppress(OSError):  # closing repeats the failed write; the first error is the one to report
            file.close()


@contextmanager
def _beside(path: Path) -> Iterator[Sink]:
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".mtagent-{secrets.token_hex(6)}.tmp")
    with _reported(path):  # in the place of a private file nobody else may look in meanwhile
        file = open(temporary, "xb", opener=_private if target.exists() else None)  # noqa: SIM115
    try:
        yield Sink(path, file)
        with _reported(path):
            _settle(file, temporary, target)
    finally:
        with suppress(OSError):
            file.close()
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _settle(file: BinaryIO, temporary: Path, target: Path) -> None:
    """Bring the complete file to the disk and put it in the place of the old one."""
    file.flush()
    os.fsync(file.fileno())
    file.close()
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
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes; what goes wrong while they are read is an :class:`InputError` too."""
    try:
        with nullcontext(sys.stdin.buffer) if path == STANDARD else path.open("rb") as file:
            yield file
    except OSError as error:
        raise InputError(f"{path}: {_reason(error)}") from error


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if path == STANDARD and isinstance(error, BrokenPipeError):
            raise  # whoever reads has enough, as in `| head`: the command line ends without a word
        raise OutputError(f"{path}: cannot be written: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    return (error.strerror or str(error) or type(error).__name__).lower()


def _decoded(path: Path, number: int, raw: bytes) -> Line:
    if number == 1 and raw.startswith(_UTF16_MARKS):
        raise InputError(f"{path}:1: is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}:{number}:{error.start + 1}: {_undecodable(raw, error.start)}") from error
    if "\0" in text:
        place = raw.index(b"\0") + 1
        raise InputError(f"{path}:{number}:{place}: a NUL byte; text has none (is the file UTF-16, or not text?)")
    if number == 1:
        text = text.removeprefix(BOM)
    body = text.removesuffix("\n")
    if len(body) == len(text):
        return Line(number, text, "")
    return Line(number, body[:-1], "\r\n") if body.endswith("\r") else Line(number, body, "\n")


def _undecodable(raw: bytes, start: int) -> str:
    if raw[start] == 0xED and b"\xa0" <= raw[start + 1 : start + 2] <= b"\xbf":
        return "a lone surrogate, which UTF-8 does not allow; correct the program that wrote it"
    return f"byte 0x{raw[start]:02X} is not UTF-8; convert the file first, e.g. iconv -f WINDOWS-1252 -t UTF-8"
