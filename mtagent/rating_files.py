"""The files of a rating run: which are read, which are written, and what must not happen to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from mtagent import formats
from mtagent.batch import enriched, segment_defaults
from mtagent.candidates import Candidates, Material, chosen, side_by_side
from mtagent.config import Config
from mtagent.errors import ConfigError, InputError
from mtagent.files import content_hashes, refuse_overwriting, refuse_unwritable, spooled_inputs
from mtagent.formats.files import lines_of
from mtagent.formats.lines import check_counts, read_lines
from mtagent.formats.ratings import RatingFormat, by_path
from mtagent.records import Segment


@dataclass(frozen=True)
class RatingInputs:
    """Line-aligned ``translations``, pairs of system and file; or a table or JSON Lines that carries its own.

    ``systems`` names the ones to rate; none = all. ``format`` is that of ``source``, where its name does not tell.
    """

    source: Path
    translations: tuple[tuple[str, Path], ...] = ()
    reference: Path | None = None
    format: str | None = None
    systems: tuple[str, ...] = ()

    @property
    def paths(self) -> dict[str, Path]:
        """All files that are read, by the option that names them."""
        files = {"-s": self.source} | {f"-t {name}": path for name, path in self.translations}
        return files if self.reference is None else {**files, "-r": self.reference}

    @contextmanager
    def spooled(self, config: Config) -> Iterator[tuple[RatingInputs, Config]]:
        """These files and ``config`` with copies of standard input and pipes, since each is read more than once."""
        with spooled_inputs(self.paths, config) as (copies, config):
            known = self.format or formats.by_path(self.source).name
            inputs = replace(
                self,
                source=copies["-s"],
                translations=tuple((name, copies[f"-t {name}"]) for name, _ in self.translations),
                reference=copies.get("-r"),
                format=known if copies["-s"] != self.source else self.format,
            )
            yield inputs, config

    def material(self, config: Config) -> Material:
        """What there is to rate. Raises :class:`ConfigError` where the files do not go together."""
        aligned = isinstance(formats.by_path(self.source, self.format), formats.Lines)
        self._refuse_misfits(aligned)
        available = tuple(name for name, _ in self.translations) if aligned else (self.source.stem,)
        systems = chosen(available, self.systems, str(self.source))
        hashes = content_hashes({"source": self.source, "reference": self.reference}, config)
        files = content_hashes(dict(self.translations), Config())
        inputs: dict[str, Any] = {**hashes, "systems": [[name, files.get(name)] for name in systems]}
        read = self._aligned if aligned else self._carried
        return Material(systems, inputs, lambda: read(config, systems))

    def _refuse_misfits(self, aligned: bool) -> None:
        names = [name for name, _ in self.translations]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ConfigError(f"two systems are called {twice!r}: name them with -t NAME=FILE")
        if aligned and not names:
            raise ConfigError(f"{self.source}: give the translations with -t")
        if not aligned and (names or self.reference):
            kind = formats.by_path(self.source, self.format).name
            raise ConfigError(f"{self.source}: a {kind} file holds its translations and references itself")

    def _aligned(self, config: Config, systems: Sequence[str]) -> Iterator[Candidates]:
        files = {name: path for name, path in self.translations if name in systems}
        check_counts([self.source, *files.values()])
        segments = read_lines(self.source, None, self.reference, segment_defaults(config))
        texts = zip(*(lines_of(path) for path in files.values()), strict=True)
        for segment, lines in islice(zip(enriched(segments, config), texts, strict=True), config.limit):
            yield side_by_side(segment, {name: line.text for name, line in zip(files, lines, strict=True)})

    def _carried(self, config: Config, systems: Sequence[str]) -> Iterator[Candidates]:
        kind = formats.by_path(self.source, self.format)
        segments: Iterable[Segment] = kind.read(self.source, segment_defaults(config))
        for segment in enriched(islice(segments, config.limit), config):
            yield side_by_side(segment, dict.fromkeys(systems, segment.translation))


@dataclass(frozen=True)
class RatingOutput:
    """Where the ratings go, and in which format; ``None`` = as the name tells, ``jsonl`` where it does not."""

    path: Path = formats.STANDARD
    format: str | None = None

    @property
    def kind(self) -> RatingFormat:
        """The format. Raises :class:`ConfigError` for an unknown one."""
        return by_path(self.path, self.format)

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files that are written."""
        return self.kind.paths(self.path)

    def refuse_collisions(self, reads: dict[str, Path]) -> None:
        """Raise :class:`ConfigError` where a file of ratings would take the place of one that is read."""
        refuse_overwriting(self.paths, reads)

    def refuse_unwritable(self) -> None:
        """Raise :class:`OutputError` where the files cannot be written, before anything is paid for."""
        for path in self.paths:
            refuse_unwritable(path)

    def refuse_unfit(self, material: Material) -> int:
        """Read everything once, so that a defect in the last line is found before anything is paid for.

        Returns the number of segments. Raises :class:`InputError` where there is nothing to rate.
        """
        total = texts = 0
        for candidates in material.candidates():
            total += 1
            texts += sum(text is not None for text in candidates.translations.values())
            self.kind.refuse(candidates, self.path)
        if not texts:
            raise InputError("there is nothing to rate: " + ("no translation" if total else "no segment") + " in it")
        return total


def named_translation(spec: str) -> tuple[str, Path]:
    """``NAME=FILE``, or a file whose name without its end is the system's: ``out/gpt.txt`` is ``gpt``."""
    name, equals, path = spec.partition("=")
    if equals and name and path and not Path(spec).exists():
        return name, Path(path)
    return ("translation" if spec == "-" else Path(spec).stem), Path(spec)
