"""The files that a job writes: what they must not replace, whether they can be written, and their hashes."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mtagent import formats
from mtagent.errors import ConfigError, InputError, OutputError
from mtagent.formats.files import reason_of, sha256
from mtagent.formats.ratings import Material, RatingFormat


def refuse_overwriting(written: Iterable[Path | None], reads: Mapping[str, Path]) -> None:
    """Raise :class:`ConfigError` if a file to be written is one of the files that are read, by option."""
    for path in written:
        for option, input_path in reads.items():
            if belongs_to(path, input_path):
                raise ConfigError(f"{path}: the results would overwrite the file of {option}: give them another name")


_KEPT_BESIDE = re.compile(r"-(wal|shm|journal)|\.run-\d+(\.reader-\d+)?\.lock")


def belongs_to(written: Path | None, path: Path) -> bool:
    """Whether ``written`` is the file ``path``, or has the name of a file that is kept next to a store."""
    if same_file(written, path):
        return True
    if written is None or written == formats.STANDARD:
        return False
    written = written.resolve()
    for file in (path.absolute(), path.resolve()):
        if written.parent != file.parent.resolve() or not written.name.startswith(file.name):
            continue
        if _KEPT_BESIDE.fullmatch(written.name.removeprefix(file.name)):
            return True
    return False


def same_file(path: Path | None, other: Path | None) -> bool:
    """Whether two paths are the same file; standard input and output are never the same."""
    if path is None or other is None or formats.STANDARD in (path, other):
        return False
    return path.resolve() == other.resolve()


def refuse_unwritable(path: Path) -> None:
    """Raise :class:`OutputError` if ``path`` cannot be written."""
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; name a file in it")
    if path == formats.STANDARD or (path.exists() and not path.is_file()):
        return
    if path.is_file() and not os.access(path, os.W_OK):  # a file in a folder could be replaced all the same
        raise OutputError(f"{path}: is read-only; make it writable, or write to another file")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: the folder {path.parent} does not exist; create it first")
    try:  # the output is written under another name next to it first
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise OutputError(f"{path}: the folder {path.parent} cannot be written to: {reason_of(error)}") from error


def refuse_unwritable_texts(output: Path, details: Path | None) -> None:
    """Raise :class:`OutputError` if texts and details cannot be written, before anything is paid for."""
    if output == formats.STANDARD == details:
        raise ConfigError("texts and details cannot both go to standard output: give -o or --details a file")
    for path in (output, details):
        if path is not None:
            refuse_unwritable(path)


def refuse_existing(paths: Iterable[Path]) -> None:
    """Raise :class:`OutputError` for the first of ``paths`` that exists."""
    for path in paths:
        if path != formats.STANDARD and path.is_file():
            raise OutputError(f"{path}: already exists; --force replaces it")


def hash_of(path: Path) -> str | None:
    """The hash of an output's content; ``None`` if it isn't a file."""
    if path == formats.STANDARD or not path.is_file():
        return None
    return sha256(path)


def hashes_of(paths: Iterable[Path]) -> dict[str, str]:
    """The hash of each output that is a file, by its full path."""
    hashes: dict[str, str] = {}
    for path in paths:
        content = hash_of(path)
        if content is not None:
            hashes[str(path.resolve())] = content
    return hashes


@dataclass(frozen=True)
class RatingOutput:
    """Where the ratings go, and in which format."""

    path: Path = formats.STANDARD
    format: str | None = None
    """``None`` = by the name, or else ``jsonl``."""
    force: bool = True
    """Without it, a file is replaced only if the same run has written it."""

    @cached_property
    def kind(self) -> RatingFormat:
        """The format. Raises :class:`ConfigError` for an unknown one."""
        return formats.rating_format(self.path, self.format)

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files that are written."""
        return self.kind.paths(self.path)

    def refuse_unwritable(self) -> None:
        """Raise :class:`OutputError` if the files cannot be written, before anything is paid for.

        Raises :class:`ConfigError` if the name is not of a file of ratings.
        """
        if self.format is None:
            formats.refuse_other_kind(self.path)
        for path in self.paths:
            refuse_unwritable(path)

    def refuse_unfit(self, material: Material) -> int:
        """Read everything once, so that a defect in the last line is found before anything is paid for.

        Returns the number of segments. Raises :class:`InputError` without translations.
        """
        total = texts = 0
        for candidates in material.candidates():
            total += 1
            texts += sum(text is not None for text in candidates.translations.values())
            self.kind.refuse(candidates, self.path)
        if not total:
            raise InputError("nothing to rate: the input has no segments")
        if not texts:
            raise InputError("nothing to rate: the input has no translations")
        return total
