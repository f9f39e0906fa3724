"""The files that a job reads and writes: their formats, and what must not happen to them."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mtagent import formats
from mtagent.config import Config
from mtagent.errors import ConfigError, InputError, OutputError
from mtagent.named_files import files_of_evaluators, prompts_of


@dataclass(frozen=True)
class Files:
    """What is read and where the results go; ``-`` is standard input or output."""

    source: Path
    translation: Path | None = None
    reference: Path | None = None
    output: Path = formats.STANDARD
    details: Path | None = None
    format: str | None = None

    def reader(self) -> formats.Format:
        """The format of ``source``, together with its line-aligned companions."""
        kind = formats.by_path(self.source, self.format)
        if isinstance(kind, formats.Lines):
            return replace(kind, translation=self.translation, reference=self.reference)
        if self.translation or self.reference:
            raise ConfigError(f"{self.source}: a {kind.name} file holds its translations and references itself")
        return kind

    def writer(self) -> tuple[formats.Format, Path | None]:
        """The format of ``output``, and the file whose columns and line ends it keeps, if it is of the same format:
        the line-aligned translation that is improved, or else the source.

        ``format`` is the output's too, unless the name of the output tells of another one.
        """
        read = formats.by_path(self.source, self.format)
        told = next((f for f in formats.FORMATS.values() if self.output.suffix.lower() in f.suffixes), read)
        written = read if told.name == read.name.partition("-")[0] else told
        improved = self.translation or self.source
        return written, improved if written.name == read.name else None

    @property
    def paths(self) -> dict[str, Path]:
        """All files that are read, by the option that names them."""
        named = {"-s": self.source, "-t": self.translation, "-r": self.reference}
        return {option: path for option, path in named.items() if path is not None}

    @contextmanager
    def spooled(self, config: Config) -> Iterator[tuple[Files, Config]]:
        """These files and ``config`` with copies of standard input and pipes, since each is read more than once."""
        inputs = {"source": self.source, "translation": self.translation, "reference": self.reference}
        given = {name: path for name, path in inputs.items() if path is not None}
        with spooled_inputs(given, config) as (copies, config):
            known = self.format or formats.by_path(self.source).name
            yield replace(self, **copies, format=known if copies["source"] != self.source else self.format), config

    def refuse_collisions(self, limit: int | None) -> None:
        """Raise :class:`ConfigError` where an output would take the place of another file that is still needed."""
        if same_file(self.output, self.details):
            raise ConfigError(f"{self.output}: texts and details cannot both go to one file")
        for option, path in self.paths.items():
            if same_file(self.details, path):
                raise ConfigError(f"{path}: --details would overwrite the file of {option}")
            if same_file(self.output, path) and limit is not None:
                raise ConfigError(f"{path}: --limit would cut the file of {option} short: give -o another name")
        lines = isinstance(formats.by_path(self.source, self.format), formats.Lines)
        if same_file(self.output, self.reference) or (lines and same_file(self.output, self.source)):
            raise ConfigError(f"{self.output}: the translation would overwrite this file: give -o another name")

    def refuse_unwritable(self) -> None:
        """Raise :class:`OutputError` where the outputs cannot be written, before anything is paid for."""
        if self.output == formats.STANDARD == self.details:
            raise ConfigError("texts and details cannot both go to standard output: give -o or --details a file")
        for path in (self.output, self.details):
            if path is not None:
                refuse_unwritable(path)

    def fingerprint(self, config: Config) -> dict[str, str]:
        """The content hash of every file that the results depend on."""
        named = {"source": self.source, "translation": self.translation, "reference": self.reference}
        return content_hashes(named, config)


@contextmanager
def spooled_inputs(named: dict[str, Path], config: Config) -> Iterator[tuple[dict[str, Path], Config]]:
    """What :func:`spooled_copies` gives for ``named``, and ``config`` with such copies of the files that it names.

    A run is known by ``config`` as it was: the names of the copies are others every time.
    """
    settings = {name: path for name in ("glossary", "keep", "prices") if (path := getattr(config, name)) is not None}
    with spooled_copies({**named, **settings}) as copies:
        yield (
            {name: copies[name] for name in named},
            config.model_copy(update={name: copies[name] for name in settings}),
        )


@contextmanager
def spooled_copies(named: dict[str, Path]) -> Iterator[dict[str, Path]]:
    """The same paths, with copies of standard input and pipes in their place; an error names what the user knows."""
    if list(named.values()).count(formats.STANDARD) > 1:
        raise InputError("only one of the files can be standard input")
    pipes = [(pipe, path) for path in named.values() if (pipe := _pipe(path))]
    for number, (pipe, path) in enumerate(pipes):
        if pipe in dict(pipes[:number]):
            known = "standard input" if path == formats.STANDARD else path
            raise InputError(f"{known}: is named twice, and a pipe can be read only once: give a file")
    with ExitStack() as stack:
        copies = {name: stack.enter_context(formats.spooled(path)) for name, path in named.items()}
        try:
            yield copies
        except (InputError, ConfigError) as error:
            error.args = (_with_names(str(error), copies, named),)
            raise


def _pipe(path: Path) -> tuple[int, int] | None:
    """What tells a pipe from others, also under another name; ``None`` for what is none."""
    try:
        found = os.fstat(sys.stdin.fileno()) if path == formats.STANDARD else path.stat()
    except (OSError, ValueError):  # there is no such file, or standard input is none
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISFIFO(found.st_mode) else None


def content_hashes(named: Mapping[str, Path | None], config: Config) -> dict[str, str]:
    """The content hash of every file in ``named``, and of those that ``config`` names."""
    files = {**named, "glossary": config.glossary, "keep": config.keep, **files_of_evaluators(config)}
    files |= {f"prompts/{path.name}": path for path in prompts_of(config)}
    return {name: sha256(path) for name, path in files.items() if path is not None}


def refuse_overwriting(written: Iterable[Path | None], reads: Mapping[str, Path]) -> None:
    """Raise :class:`ConfigError` where a file to be written is one of those that are read, by option."""
    for path in written:
        taken = (option for option, read in reads.items() if any(same_file(path, file) for file in companions(read)))
        if option := next(taken, None):
            raise ConfigError(f"{path}: the results would overwrite the file of {option}: give them another name")


def companions(path: Path) -> list[Path]:
    """``path``, and the files that SQLite keeps beside it where it is a database."""
    return [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal") if path.name)]


def same_file(one: Path | None, other: Path | None) -> bool:
    """Whether two paths are one file; standard input and output are none."""
    if one is None or other is None or formats.STANDARD in (one, other):
        return False
    return one.resolve() == other.resolve()


def refuse_unwritable(path: Path) -> None:
    """Raise :class:`OutputError` where ``path`` cannot be written."""
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; name a file in it")
    if path != formats.STANDARD and (path.is_file() or not path.exists()):
        _refuse_unwritable_folder(path)


def _refuse_unwritable_folder(path: Path) -> None:
    """The output is written under another name beside ``path`` first: see whether that will be possible."""
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {path.parent} to write it to")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OutputError(f"{path}: the folder {path.parent} cannot be written to: {reason}") from error


def sha256(path: Path) -> str:
    """The hash of a file's content. Raises :class:`InputError`."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from error


def _with_names(message: str, copies: dict[str, Path], named: dict[str, Path]) -> str:
    """``message`` with the names that the user knows in place of those of the copies."""
    for name, copy in copies.items():
        known = "standard input" if named[name] == formats.STANDARD else str(named[name])
        message = message.replace(str(copy), known)
    return message
