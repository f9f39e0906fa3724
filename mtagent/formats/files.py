"""Text and JSON in files, exactly: UTF-8 only, lines that end at ``\\n`` only, output that is never half-written.

Standard input can be read only once: it is copied, or refused if it would have to be read again later.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import math
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TextIO

from pydantic import BaseModel

from mtagent.errors import ConfigError, InputError, OutputError
from mtagent.text.escaping import shown_on

STANDARD = Path("-")
"""The path for standard input or output."""

BOM = "\ufeff"
CHUNK = 2**20
"""How many bytes are read at once where lines do not matter."""


class TextLine(NamedTuple):
    """A line of a file: its number from 1, its text, and how it ends (``\\n``, ``\\r\\n``, or nothing at all)."""

    number: int
    text: str
    end: str


def lines_of(path: Path, encoding: str = "utf-8") -> Iterator[TextLine]:
    """Yield the lines of a file, by default in UTF-8, without its byte order mark.

    Only ``\\n`` and ``\\r\\n`` end a line, as ``wc -l`` counts. The other line breaks (``text.paragraphs.LINE_BREAKS``)
    are text: no line of a user's file is ever split, and counted in this way an output has as many lines as its input.
    A text may keep the other line breaks, and an edit may restore the source's line breaks: if a source has a lone
    ``\r``, universal newlines may cut the output there, too. Raises :class:`InputError` for other encodings, lone
    surrogates and NUL.
    """
    with opened(path) as file:
        for number, raw in enumerate(_raw_lines(file, encoding), start=1):
            try:
                text = raw.decode(encoding)
            except UnicodeDecodeError as error:
                raise InputError(_undecodable(path, number, raw, error.start, encoding)) from error
            if "\0" in text:
                column = text.index("\0") + 1
                raise InputError(f"{path}:{number}:{column}: a NUL byte; text has none (is it UTF-16, or not text?)")
            if number == 1:
                text = text.removeprefix(BOM)
            end = ""
            if text.endswith("\n"):
                end = "\r\n" if text.endswith("\r\n") else "\n"
            yield TextLine(number, text.removesuffix(end), end)


def _raw_lines(file: BinaryIO, encoding: str) -> Iterator[bytes]:
    """The bytes of each line, with its end. In UTF-16, a line feed is two bytes."""
    if not encoding.startswith("utf-16"):
        yield from file
        return
    feed = "\n".encode(encoding)
    rest = b""
    while chunk := file.read(CHUNK):
        start = place = 0
        data = rest + chunk
        while (place := data.find(feed, place)) >= 0:
            if place % 2:  # half of one character and half of the next
                place += 1
                continue
            yield data[start : place + 2]
            start = place = place + 2
        rest = data[start:]
    if rest:
        yield rest


def encoding_of(path: Path, encoding: str | None = None) -> str:
    """The encoding of a file that may be UTF-16: by its byte order mark, or else ``encoding``, or else UTF-8."""
    if not path.is_file():  # a pipe can be read only once
        return encoding or "utf-8"
    with opened(path) as file:
        mark = file.read(2)
    marked = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
    return marked.get(mark) or encoding or "utf-8"


def _undecodable(path: Path, number: int, raw: bytes, start: int, encoding: str) -> str:
    if encoding.startswith("utf-16") and path.is_file() and byte_order_mark(path, encoding):
        return (
            f"{path}:{number}: is UTF-16 by its byte order mark, and byte 0x{raw[start]:02X} is not; the file may be "
            "cut off: restore it"
        )
    if encoding != "utf-8":
        return f"{path}:{number}: byte 0x{raw[start]:02X} is not {encoding}; give the right --encoding"
    if number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return f"{path}:1: is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8"  # tables are read as they are
    if raw[start] == 0xED and b"\xa0" <= raw[start + 1 : start + 2] <= b"\xbf":
        why = "a lone surrogate, which UTF-8 does not allow; correct the program that wrote it"
    else:
        why = f"byte 0x{raw[start]:02X} is not UTF-8; convert the file first, e.g. iconv -f WINDOWS-1252 -t UTF-8"
        why += " (a table of segments: --encoding windows-1252)" if path.suffix in (".csv", ".tsv") else ""
    return f"{path}:{number}:{start + 1}: {why}"


def count_lines(path: Path) -> int:
    """The number of lines of a file, by its line feeds alone. Raises :class:`InputError` if it cannot be read."""
    line_feeds, last_byte = 0, b"\n"
    with opened(path) as file:
        while chunk := file.read(CHUNK):
            line_feeds += chunk.count(b"\n")
            last_byte = chunk[-1:]
    return line_feeds + (last_byte != b"\n")


def byte_order_mark(path: Path, encoding: str = "utf-8") -> str:
    """The byte order mark that a file begins with, or ``""``."""
    if path == STANDARD:
        raise InputError("standard input cannot be read a second time; write without 'like', or read from a file")
    with opened(path) as file:
        return BOM if encoding.startswith("utf-") and file.read(3).startswith(BOM.encode(encoding)) else ""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes; what goes wrong while they are read is an :class:`InputError` too."""
    try:
        with nullcontext(sys.stdin.buffer) if path == STANDARD else path.open("rb") as file:
            yield file
    except OSError as error:
        raise InputError(f"{path}: {reason_of(error)}") from error


def reason_of(error: OSError) -> str:
    """The operating system's reason, as the end of a message."""
    return (error.strerror or str(error) or type(error).__name__).lower()


def sha256(path: Path) -> str:
    """The hash of a file's content. Raises :class:`InputError`."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: {reason_of(error)}") from error


def private(path: str, flags: int) -> int:
    """An opener for files that nobody else may look into."""
    return os.open(path, flags, 0o600)


class Sink:
    """A file that is being written. Failures are raised as :class:`OutputError`, under the name of the final file.

    ``stream`` is standard output, if that is what is written to: on a terminal no character of a text acts. A format
    that isn't text is written to ``file``.
    """

    def __init__(self, path: Path, file: BinaryIO, stream: TextIO | None = None) -> None:
        self.path = path
        self.file = file
        self.encoding = "utf-8"
        self._stream = stream

    def write(self, text: str) -> None:
        """Write ``text`` in the ``encoding``."""
        if self._stream is not None:
            text = shown_on(self._stream, text)
        try:
            encoded = text.encode(self.encoding)
        except UnicodeEncodeError as error:
            character = text[error.start]
            if "\ud800" <= character <= "\udfff":
                what = f"the lone surrogate U+{ord(character):04X} cannot be written as UTF-8"
            else:
                what = f"the character {character} cannot be written as {self.encoding}; give an -o of another format"
            raise OutputError(f"{self.path}: {what}") from error
        self.write_bytes(encoded)

    def write_bytes(self, data: bytes) -> None:
        """Write ``data`` as it is."""
        with _reported(self.path):
            self.file.write(data)


@contextmanager
def replacing(path: Path) -> Iterator[Sink]:
    """Write to a temporary file beside ``path``, which takes its place when the block ends without an error.

    Standard output, pipes and devices cannot be replaced: they are written to directly. A symbolic link stays one.
    """
    if path == STANDARD:
        with _reported(path):
            sys.stdout.flush()  # what was printed before comes first
        yield Sink(path, sys.stdout.buffer, sys.stdout)
        with _reported(path):
            sys.stdout.buffer.flush()
        return
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; name a file in it")
    target = Path(os.path.realpath(path))
    direct = path.exists() and not path.is_file()
    written = path if direct else target.with_name(f".mtagent-{secrets.token_hex(6)}.tmp")
    with _reported(path):  # what replaces a private file is private from the start
        file = open(written, "wb" if direct else "xb", opener=private if target.exists() else None)  # noqa: SIM115
    try:
        yield Sink(path, file)
        with _reported(path):
            file.flush()
            if not direct:
                os.fsync(file.fileno())
                file.close()
                if target.exists():
                    _give_owner(written, target.stat())
                    shutil.copymode(target, written)
                written.replace(target)
                if os.name == "posix":  # the new name must outlive a power cut too
                    folder = os.open(target.parent, os.O_RDONLY)
                    try:
                        os.fsync(folder)
                    finally:
                        os.close(folder)
    finally:
        with suppress(OSError):  # closing repeats the failed write; the first error is the one to report
            file.close()
        if not direct:
            with suppress(OSError):
                written.unlink(missing_ok=True)


def _give_owner(path: Path, about: os.stat_result) -> None:
    """Give a file the owner and the group in ``about``, or at least the group, as far as this user may do that."""
    if os.name != "posix":
        return
    for owner in (about.st_uid, -1):
        with suppress(OSError):
            os.chown(path, owner, about.st_gid)
            return


def write_pieces(path: Path, head: str, pieces: Iterable[str], encoding: str = "utf-8") -> int:
    """Write ``head`` and each of ``pieces`` as :func:`replacing` does, and return how many pieces there were."""
    count = 0
    with replacing(path) as sink:
        sink.encoding = encoding
        sink.write(head)
        for piece in pieces:
            sink.write(piece)
            count += 1
    return count


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if path == STANDARD and isinstance(error, BrokenPipeError):
            raise  # the reader has enough, as in `| head`: the command ends without a message
        raise OutputError(f"{path}: cannot be written: {reason_of(error)}") from error


# -- standard input

PREFIX = "mtagent-spool-"
"""How the names of the folders with copies begin."""

_COPY = "input"
_LIMIT = "MTAGENT_SPOOL_GIB"
"""The environment variable with the most gibibytes of standard input that are copied."""

_USUAL_GIB = "4"


def refuse_pipe(path: Path, what: str) -> None:
    """Raise :class:`ConfigError` if ``path`` can be read only once; ``what`` is the option that names it."""
    if path == STANDARD or path.is_fifo():
        raise ConfigError(f"{what} {path}: is read more than once, which a pipe cannot be: give a file")


def refuse_named_pipe(path: Path) -> None:
    """Raise :class:`InputError` for a pipe that has a name: only standard input is copied, so that it is read twice."""
    if path != STANDARD and path.is_fifo():
        raise InputError(f"{path}: is a pipe, which can be read only once; give a file, or - for standard input")


@contextmanager
def spooled(path: Path) -> Iterator[Path]:
    """A path that can be read twice: a temporary copy of standard input, any other path itself.

    The copy lies in a fresh folder that only this user can read, and goes when the block ends. Raises
    :class:`InputError` if it is longer than the environment variable ``MTAGENT_SPOOL_GIB`` allows, and for a
    pipe that has a name.
    """
    if path != STANDARD:
        refuse_named_pipe(path)
        yield path
        return
    from filelock import FileLock

    remove_stale()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        with FileLock(folder / "lock"):  # locked before anything is in it: see remove_stale
            copy = folder / _COPY
            _copy_standard_input(copy)
            yield copy
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def spooled_copies(named: dict[str, Path]) -> Iterator[dict[str, Path]]:
    """The same paths, with a copy of standard input in its place; an error names what the user knows."""
    if list(named.values()).count(STANDARD) > 1:
        raise InputError("only one of the files can be standard input")
    with ExitStack() as stack:
        copies = {name: stack.enter_context(spooled(path)) for name, path in named.items()}
        try:
            yield copies
        except (InputError, ConfigError) as error:
            message = str(error)
            for name, copy in copies.items():
                if named[name] == STANDARD:
                    message = message.replace(str(copy), "standard input")
            error.args = (message,)
            raise


def remove_stale() -> None:
    """Remove the copies of standard input that processes which are gone have left behind."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another user's, still locked (Timeout is an OSError), or gone by now
            about = folder.lstat()
            is_mine = stat.S_ISDIR(about.st_mode) and (os.name != "posix" or about.st_uid == os.getuid())
            if is_mine and any(folder.glob(f"{_COPY}*")):  # otherwise it has no texts, and perhaps no lock yet
                from filelock import FileLock

                with FileLock(folder / "lock", blocking=False):
                    shutil.rmtree(folder, ignore_errors=True)


def _copy_standard_input(copy: Path) -> None:
    limit = os.environ.get(_LIMIT) or _USUAL_GIB
    try:
        bytes_left = int(float(limit) * 2**30)
        if not float(limit) > 0:
            raise ValueError
    except (ValueError, OverflowError):
        raise ConfigError(f"{_LIMIT}: {limit!r} is not a number of gibibytes; write for example 8") from None
    with opened(STANDARD) as source, open(copy, "xb", opener=private) as file:
        while chunk := source.read(CHUNK):
            bytes_left -= len(chunk)
            if bytes_left < 0:
                raise InputError(
                    f"standard input: is longer than {float(limit):.3g} GiB, the maximum that is copied: give a file, "
                    "or "
                    f"set {_LIMIT} to more"
                )
            try:
                file.write(chunk)
                file.flush()
            except OSError as error:
                why = f"cannot be copied to {copy.parent.parent}: {reason_of(error)}"
                raise InputError(f"standard input: {why}; give a file, or another folder in TMPDIR") from error


# -- JSON


def dumped(value: object, *, indent: int | None = None) -> str:
    """``value`` as JSON. A lone surrogate, which UTF-8 cannot hold, is written as an escape."""
    return encoded(_plain(value), indent=indent)


def encoded(value: object, *, indent: int | None = None) -> str:
    """The same for plain data, in which a number that is not finite is a :class:`ValueError`."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, indent=indent)
    return text


def _plain(value: Any) -> Any:
    """Records, dataclasses, mappings and sequences as plain data; a number that is not finite is ``None``."""
    if isinstance(value, BaseModel):
        return _plain(value.model_dump())
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def parsed(
    text: str, where: str, load: Callable[[str], Any] = json.loads, *, kind: Literal["file", "line", "cell"] = "cell"
) -> Any:
    """The value that ``text`` holds. Raises :class:`InputError` beginning with ``where``, and naming the character."""
    try:
        return load(text)
    except json.JSONDecodeError as error:
        problem = f"not JSON: {error.msg.lower()}"
        if kind == "file":
            raise InputError(f"{where}:{error.lineno}:{error.colno}: {problem}") from None
        if kind == "line":
            raise InputError(f"{where}:{error.colno}: {problem}") from None
        raise InputError(f"{where}: {problem} at character {error.colno}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not usable JSON: {error}") from None


def whole_file(path: Path) -> Any:
    """The value that a whole file holds, with or without a byte order mark. Raises :class:`InputError`."""
    return parsed("".join(line.text + line.end for line in lines_of(path)), str(path), kind="file")


def object_lines(path: Path) -> Iterator[tuple[TextLine, dict[str, Any]]]:
    """Each line of JSON Lines with its object; empty lines at the end of the file are ignored.

    Raises :class:`InputError` for anything that is not JSON, and for repeated names in an object, NaN, lone surrogates
    and NUL.
    """
    blank: TextLine | None = None
    for line in lines_of(path):
        if not line.text.strip():
            blank = blank or line
            continue
        if blank:
            raise InputError(f"{path}:{blank.number}: an empty line between the objects; delete it")
        where = f"{path}:{line.number}"
        values = parsed(line.text, where, _strict, kind="line")
        if not isinstance(values, dict):
            raise InputError(f"{where}: a line must hold an object ({{…}}), not {type(values).__name__}")
        if "\\u0000" in line.text and any("\0" in value for value in values.values() if isinstance(value, str)):
            raise InputError(f"{where}: an escaped NUL (\\u0000); text has none")
        yield line, values


def parsed_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line's number and its object; see :func:`object_lines`."""
    return ((line.number, values) for line, values in object_lines(path))


def _without_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = [name for name in names if names.count(name) > 1]
        raise ValueError(f"the field {repeated[0]!r} comes twice")
    return values


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_without_repeated, parse_constant=_refuse)


def _strict(text: str) -> Any:
    values = _DECODER.decode(text)
    if "\\u" in text:  # only an escape can bring in what UTF-8 could not hold
        try:
            json.dumps(values, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            code = ord(error.object[error.start])
            raise ValueError(f"an escaped lone surrogate (\\u{code:04x})") from None
    return values
